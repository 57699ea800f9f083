//! The `env` of a job: its own variables, and those of `[defaults]` that it does not set or drop.

use super::section::{Mistakes, Section};
use super::value::kind;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// The variables in order of their names, so that hosts whose files differ in nothing but the order have the same definition.
pub(super) fn read(section: &Section<'_>, mistakes: &mut Mistakes) -> Vec<(String, String)> {
    let mut all = BTreeMap::new();
    for (layer, value) in section.layers("env") {
        let DeValue::Table(table) = value.get_ref() else {
            let why = format!("`env`: found {}; write {{ KEY = \"value\" }}", kind(value.get_ref()));
            layer.wrong(value.span().start, &why, mistakes);
            continue;
        };
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match variable(name, value.get_ref(), all.contains_key(name)) {
                Ok(Some(text)) => all.insert(name.to_owned(), text),
                Ok(None) => all.remove(name),
                Err(why) => {
                    layer.wrong(value.span().start, &format!("`env`: {why}"), mistakes);
                    // So that a job that drops it is not wrong as well.
                    all.insert(name.to_owned(), String::new())
                }
            };
        }
    }
    all.into_iter().collect()
}

/// The value of a variable; `None` if it is dropped. `is_known`: a more general table has it.
fn variable(name: &str, value: &DeValue<'_>, is_known: bool) -> Result<Option<String>, String> {
    let text = match value {
        DeValue::String(text) => Some(text),
        DeValue::Boolean(false) if is_known => None,
        DeValue::Boolean(false) => {
            return Err(format!(
                "{name:?} is false, which drops a variable of the `env` of [defaults], and there is none of this name; \
                 leave it out, or write a \"string\""
            ));
        }
        other => {
            let found = if matches!(other, DeValue::Boolean(true)) { "true" } else { kind(other) };
            return Err(format!(
                "{name:?} is {found}; write a \"string\", or false in a job to drop a variable of [defaults]"
            ));
        }
    };
    if name.is_empty() || name.contains(['=', '\0']) || text.is_some_and(|text| text.contains('\0')) {
        return Err(format!("{name:?} or its value is not allowed in an environment"));
    }
    if name.starts_with("COTTER_") {
        return Err(format!("{name:?} is reserved for cotter"));
    }
    Ok(text.map(|text| text.clone().into_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use std::path::Path;

    fn one(text: &str) -> String {
        match &parse(Path::new("jobs.toml"), text).expect_err("there is a mistake")[..] {
            [mistake] => format!("{}: {}", mistake.line, mistake.message),
            all => panic!("{all:?}"),
        }
    }

    /// The variables of job `a`, whose `[defaults]` and own tables are these.
    fn merged(defaults: &str, own: &str) -> Vec<(String, String)> {
        let text = format!(
            "group = \"g\"\n[defaults]\n{defaults}\n[job.a]\nfixed_rate = \"1s\"\nshell = \"x\"\n{own}\n"
        );
        parse(Path::new("jobs.toml"), &text).unwrap().jobs[0].launch(Vec::new()).env
    }

    #[test]
    fn the_variables_of_a_job_are_added_to_those_of_the_defaults() {
        let pairs =
            |all: &[(&str, &str)]| all.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect::<Vec<_>>();
        let defaults = "env = { PATH = \"/opt/bin\", LANG = \"C\", MAIL = \"ops\" }";
        let found = merged(defaults, "env = { X = \"1\", LANG = \"de\", MAIL = false }");
        assert_eq!(found, pairs(&[("LANG", "de"), ("PATH", "/opt/bin"), ("X", "1")]));
        let all = pairs(&[("LANG", "C"), ("MAIL", "ops"), ("PATH", "/opt/bin")]);
        assert_eq!((merged(defaults, ""), merged(defaults, "env = {}")), (all.clone(), all));
        assert_eq!(merged("", "[job.a.env]\nB = \"2\"\nA = \"\""), pairs(&[("A", ""), ("B", "2")]));
    }

    #[test]
    fn only_a_variable_of_the_defaults_can_be_dropped_and_only_with_false() {
        let own = |own: &str| {
            format!(
                "group = \"g\"\n[defaults]\nenv = {{ A = \"1\" }}\n[job.a]\nfixed_rate = \"1s\"\nshell = \"x\"\n{own}\n"
            )
        };
        for (line, says) in [
            (
                "env = { B = false }",
                "7: job \"a\": `env`: \"B\" is false, which drops a variable of the `env` of [defaults], and there is none",
            ),
            (
                "[job.a.env]\nC = \"1\"\nA = true",
                "9: job \"a\": `env`: \"A\" is true; write a \"string\", or false in a job to drop",
            ),
            (
                "env = { A = [] }",
                "7: job \"a\": `env`: \"A\" is a list; write a \"string\", or false in a job to drop",
            ),
            ("env = false", "7: job \"a\": `env`: found true or false; write {"),
        ] {
            let found = one(&own(line));
            assert!(found.starts_with(says), "{line}: {found}");
        }
    }

    /// Once, with its line, whatever the jobs make of it.
    #[test]
    fn a_wrong_variable_of_the_defaults_is_told_once() {
        let jobs = "[job.a]\nfixed_rate = \"1s\"\nshell = \"x\"\nenv = { A = false }\n[job.b]\nfixed_rate = \"1s\"\nshell = \"x\"\n";
        for (value, says) in [("5", "A\" is a number; write"), ("false", "A\" is false, which drops")] {
            let found = one(&format!("group = \"g\"\n[defaults]\nenv = {{ A = {value} }}\n{jobs}"));
            assert!(found.starts_with(&format!("3: [defaults]: `env`: \"{says}")), "{found}");
        }
    }
}
