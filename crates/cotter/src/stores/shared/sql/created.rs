//! What the statements of a schema create.

/// The names behind each `begin`, in order: those of the statements that drop it again are taken from the ones that create it.
pub(crate) fn created<'a>(statements: &'a str, begin: &str) -> impl Iterator<Item = &'a str> {
    let names = statements.split(begin).skip(1);
    names.map(|rest| rest.split(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_a_blank_or_a_parenthesis() {
        let statements = "create table if not exists a (x int);\ncreate function f(x int);\ncreate table if not exists b\n();";
        assert_eq!(created(statements, "create table if not exists ").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(created(statements, "create function ").collect::<Vec<_>>(), ["f"]);
    }
}
