//! The test programs that cargo builds.

use super::Result;
use super::options::Options;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Tests that need a server or a tool are ignored by default.
const INCLUDE_IGNORED: &str = "--include-ignored";

const CARGO: &str = "cargo";

/// One test program.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// The name of its target: `library`, or that of the crate for unit tests.
    pub(crate) name: String,
    /// What one types to run it, without the name of a test.
    command: String,
    pub(crate) executable: PathBuf,
    /// What comes before the arguments of the test program.
    pub(crate) arguments: Vec<String>,
    /// The folder of its package, in which cargo would run it.
    pub(crate) package: PathBuf,
}

impl Program {
    /// What one types to run this test alone.
    pub(crate) fn command(&self, test: &str) -> String {
        format!("{} {test:?}", self.command)
    }

    /// Whether cargo runs the tests.
    pub(crate) fn is_cargo(&self) -> bool {
        self.executable == Path::new(CARGO)
    }

    /// The examples of the documentation, which only cargo can run.
    fn documentation(root: &Path) -> Self {
        let arguments = ["test", "--workspace", "--all-features", "--doc", "--", INCLUDE_IGNORED];
        Self {
            name: "documentation".into(),
            command: format!("cargo {} --exact", arguments.join(" ")),
            executable: CARGO.into(),
            arguments: arguments.map(String::from).to_vec(),
            package: root.to_path_buf(),
        }
    }
}

/// Builds the programs that are asked for. What cargo says goes to the terminal.
pub(crate) fn build(root: &Path, options: &Options) -> Result<Vec<Program>> {
    let mut cargo = Command::new(CARGO);
    cargo.arg("test").current_dir(root);
    match &options.part {
        Some(part) => cargo.args(&part.choice),
        None => cargo.args(["--workspace", "--all-features", "--lib", "--bins", "--tests"]),
    };
    cargo.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let built = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !built.status.success() {
        return Err("the tests do not compile".into());
    }
    let output = String::from_utf8(built.stdout)?;
    let mut programs: Vec<_> = output.lines().filter_map(|line| program(line, options)).collect();
    if options.part.is_none() {
        programs.push(Program::documentation(root));
    }
    if programs.is_empty() { Err("cargo has built no tests".into()) } else { Ok(programs) }
}

/// The program of a message, if it is about one.
fn program(message: &str, options: &Options) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let executable = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
    let target = &message["target"];
    let (name, kind) = (target["name"].as_str()?, target["kind"][0].as_str()?);
    let package = Path::new(message["manifest_path"].as_str()?).parent()?;
    let (cargo, arguments) = match &options.part {
        None => ("cargo test --workspace --all-features", vec![INCLUDE_IGNORED.to_owned()]),
        Some(part) if part.without_ignored => (part.command.as_str(), Vec::new()),
        Some(part) => (part.command.as_str(), vec![INCLUDE_IGNORED.to_owned()]),
    };
    let choice = match kind {
        "test" => format!("--test {name}"),
        "bin" => format!("--bin {name}"),
        _ => format!("-p {} --lib", package.file_name()?.to_string_lossy()),
    };
    Some(Program {
        name: name.to_owned(),
        command: [cargo, &choice, "--", &arguments.concat(), "--exact"].join(" "),
        executable: executable.into(),
        arguments,
        package: package.to_path_buf(),
    })
}

#[cfg(test)]
mod tests {
    use super::program;
    use crate::options::{Options, Part};

    #[test]
    fn a_message_about_a_test_program_is_recognised() {
        let message = r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/cotter/Cargo.toml",
            "target":{"kind":["test"],"name":"library"},"profile":{"test":true},"executable":"/w/target/library-1"}"#;
        let all = Options::default();
        let found = program(message, &all).expect("a program");
        assert_eq!(
            (found.name.as_str(), found.command("a::b").as_str()),
            (
                "library",
                "cargo test --workspace --all-features --test library -- --include-ignored --exact \"a::b\""
            )
        );
        assert_eq!(found.package.to_str(), Some("/w/crates/cotter"));
        assert!(program(r#"{"reason":"build-finished","success":true}"#, &all).is_none());
        let ordinary = message.replace(r#""test":true"#, r#""test":false"#);
        assert!(program(&ordinary, &all).is_none(), "not every executable is a test program");
        let part = Part { command: "run".into(), without_ignored: true, ..Part::default() };
        let found = program(message, &Options { part: Some(part), ..all }).expect("a program");
        assert!(found.arguments.is_empty());
    }
}
