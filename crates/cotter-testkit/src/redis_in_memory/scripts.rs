//! Lua scripts.

use super::reply::Reply;
use mlua::{Function, Lua, LuaString, MultiValue, Table, Value};
use std::collections::HashMap;
use std::fmt;

/// The scripts that a server knows, and the interpreter that runs them.
pub(super) struct Scripts {
    lua: Lua,
    /// By their texts: each connection loads all scripts again.
    hashes: HashMap<Vec<u8>, String>,
    texts: HashMap<String, Vec<u8>>,
    compiled: HashMap<String, Function>,
}

/// What a command in a script answers.
pub(super) type Call = dyn Fn(Vec<Vec<u8>>) -> Reply + Send + Sync;

/// An error of a command, which `redis.call` raises.
#[derive(Debug)]
struct Raised(String);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

impl Scripts {
    pub(super) fn new(call: std::sync::Arc<Call>) -> mlua::Result<Self> {
        let lua = Lua::new();
        let redis = lua.create_table()?;
        let raises = call.clone();
        redis.set(
            "call",
            lua.create_function(move |lua, args: MultiValue| match raises(arguments(&args)?) {
                Reply::Error(text) => Err(mlua::Error::external(Raised(text))),
                reply => to_lua(lua, &reply),
            })?,
        )?;
        redis.set(
            "pcall",
            lua.create_function(move |lua, args: MultiValue| to_lua(lua, &call(arguments(&args)?)))?,
        )?;
        redis.set("error_reply", lua.create_function(|lua, text: LuaString| with(lua, "err", text))?)?;
        redis.set("status_reply", lua.create_function(|lua, text: LuaString| with(lua, "ok", text))?)?;
        redis.set("sha1hex", lua.create_function(|_, text: LuaString| Ok(hash(&text.as_bytes())))?)?;
        lua.globals().set("redis", redis)?;
        Ok(Self { lua, hashes: HashMap::new(), texts: HashMap::new(), compiled: HashMap::new() })
    }

    /// Keeps a script. Returns its hash.
    pub(super) fn load(&mut self, text: &[u8]) -> String {
        let hash = match self.hashes.get(text) {
            Some(hash) => hash.clone(),
            None => self.hashes.entry(text.to_vec()).or_insert_with(|| hash(text)).clone(),
        };
        self.texts.entry(hash.clone()).or_insert_with(|| text.to_vec());
        hash
    }

    pub(super) fn knows(&self, hash: &str) -> bool {
        self.texts.contains_key(hash)
    }

    pub(super) fn flush(&mut self) {
        self.texts.clear();
    }

    /// Runs a script that is known.
    pub(super) fn run(&mut self, hash: &str, keys: &[Vec<u8>], args: &[Vec<u8>]) -> Reply {
        let mut run = || -> mlua::Result<Reply> {
            let function = match self.compiled.get(hash) {
                Some(function) => function.clone(),
                None => {
                    let text = self.texts.get(hash).map(Vec::as_slice).unwrap_or_default();
                    let function = self.lua.load(body(text)).set_name("@user_script").into_function()?;
                    self.compiled.insert(hash.to_owned(), function.clone());
                    function
                }
            };
            self.lua.globals().set("KEYS", list(&self.lua, keys)?)?;
            self.lua.globals().set("ARGV", list(&self.lua, args)?)?;
            from_lua(&function.call(())?)
        };
        run().unwrap_or_else(|e| match raised(&e) {
            Some(text) => Reply::Error(format!("{text} script: {hash}, on @user_script")),
            None => Reply::Error(format!("ERR {}", e.to_string().replace(['\r', '\n'], " "))),
        })
    }
}

/// A script without the line that has its flags.
fn body(text: &[u8]) -> &[u8] {
    match text.starts_with(b"#!") {
        true => text.iter().position(|byte| *byte == b'\n').map_or(b"", |at| &text[at..]),
        false => text,
    }
}

/// The text of an error of a command, wherever it was raised.
fn raised(e: &mlua::Error) -> Option<String> {
    match e {
        mlua::Error::CallbackError { cause, .. } => raised(cause),
        e => e.downcast_ref::<Raised>().map(|raised| raised.0.clone()),
    }
}

fn hash(text: &[u8]) -> String {
    redis::Script::new(&String::from_utf8_lossy(text)).get_hash().to_owned()
}

fn list(lua: &Lua, items: &[Vec<u8>]) -> mlua::Result<Table> {
    let strings: mlua::Result<Vec<_>> = items.iter().map(|item| lua.create_string(item)).collect();
    lua.create_sequence_from(strings?)
}

fn with(lua: &Lua, field: &str, text: LuaString) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set(field, text)?;
    Ok(table)
}

/// The arguments of a command, as Redis writes numbers.
fn arguments(args: &MultiValue) -> mlua::Result<Vec<Vec<u8>>> {
    let arg = |value: &Value| match value {
        Value::String(text) => Ok(text.as_bytes().to_vec()),
        Value::Integer(n) => Ok(n.to_string().into_bytes()),
        Value::Number(n) if n.fract() == 0.0 && n.abs() < 9e18 => Ok((*n as i64).to_string().into_bytes()),
        Value::Number(n) => Ok(n.to_string().into_bytes()),
        _ => Err(mlua::Error::external(Raised(
            "ERR Lua redis lib command arguments must be strings or integers".into(),
        ))),
    };
    args.iter().map(arg).collect()
}

fn to_lua(lua: &Lua, reply: &Reply) -> mlua::Result<Value> {
    Ok(match reply {
        Reply::Nil => Value::Boolean(false),
        Reply::Int(n) => Value::Number(*n as f64),
        Reply::Bulk(bytes) => Value::String(lua.create_string(bytes)?),
        Reply::Status(text) => Value::Table(with(lua, "ok", lua.create_string(text)?)?),
        Reply::Error(text) => Value::Table(with(lua, "err", lua.create_string(text)?)?),
        Reply::Array(items) => {
            let values: mlua::Result<Vec<_>> = items.iter().map(|item| to_lua(lua, item)).collect();
            Value::Table(lua.create_sequence_from(values?)?)
        }
    })
}

/// A number loses its fraction, and a list ends at the first element that is nil.
fn from_lua(value: &Value) -> mlua::Result<Reply> {
    Ok(match value {
        Value::String(text) => Reply::bulk(text.as_bytes()),
        Value::Integer(n) => Reply::Int(*n),
        Value::Number(n) => Reply::Int(*n as i64),
        Value::Boolean(true) => Reply::Int(1),
        Value::Table(table) => {
            if let Some(text) = table.raw_get::<Option<LuaString>>("err")? {
                return Ok(Reply::error(text.to_string_lossy()));
            }
            if let Some(text) = table.raw_get::<Option<LuaString>>("ok")? {
                return Ok(Reply::Status(text.to_string_lossy()));
            }
            let items: mlua::Result<Vec<_>> =
                table.sequence_values::<Value>().map(|item| from_lua(&item?)).collect();
            Reply::Array(items?)
        }
        _ => Reply::Nil,
    })
}
