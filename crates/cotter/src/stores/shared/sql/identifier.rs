//! Names of schemas and tables. They become part of a statement, where nothing can be bound.

use crate::Result;
use crate::error::config;

/// The longest name: room for what is appended to it, within the 63 bytes of a database.
const MAX: usize = 40;

/// Checks the name in an option. What begins with a lower-case letter, and has only lower-case letters, digits and underscores,
/// means the same with and without quotation marks.
pub(crate) fn identifier(key: &str, value: String) -> Result<String> {
    let starts_well = value.starts_with(|c: char| c.is_ascii_lowercase());
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !starts_well || value.len() > MAX || !value.chars().all(fits) {
        return Err(config(format!(
            "{key}= must be a name of up to {MAX} lower-case letters, digits and underscores that begins with a letter"
        )));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_pass() {
        for good in ["cotter", "c", "app_2"] {
            assert_eq!(identifier("prefix", good.into()).unwrap(), good);
        }
        for bad in [
            "",
            "2nd",
            "_x",
            "Cotter",
            "a-b",
            "a b",
            "a\"b",
            "a;drop table x",
            "a.b",
            "ä",
            "a'",
            &"a".repeat(41),
        ] {
            let error = identifier("prefix", bad.into()).unwrap_err();
            assert!(error.to_string().contains("prefix="), "{bad}: {error}");
        }
    }
}
