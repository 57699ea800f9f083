//! The arguments of a requested run, as variables of its environment.
//!
//! They have a prefix, because whoever may write to the store must not be able to set variables such as `PATH` or `LD_PRELOAD`
//! on the hosts.

const PREFIX: &str = "COTTER_ARG_";

/// Parses an argument of the command line.
pub(crate) fn parse(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    variable(name, value)?;
    Ok((name.to_owned(), value.to_owned()))
}

/// The variable for an argument.
pub(crate) fn variable(name: &str, value: &str) -> Result<(String, String), String> {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    if !name.starts_with(is_first) || !name.chars().all(|c| is_first(c) || c.is_ascii_digit()) {
        return Err(format!("{name:?} is not the name of a variable: use letters, digits and _"));
    }
    if value.contains('\0') {
        return Err(format!("the value of {name} contains a NUL"));
    }
    Ok((format!("{PREFIX}{name}"), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_a_variable_with_a_prefix() {
        assert_eq!(parse("SINCE=a=b").unwrap(), ("SINCE".to_owned(), "a=b".to_owned()));
        assert_eq!(variable("PATH", "x").unwrap().0, "COTTER_ARG_PATH");
        for text in ["SINCE", "=x", "1A=x", "a b=x", "A\0=x", "A=x\0"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
