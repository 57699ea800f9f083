//! Pages that show a program show what it is.

use crate::links::root;
use std::fs;

/// Whose code is that of `programs/`, which is compiled there.
pub(crate) const PAGES: [&str; 2] = ["docs/service.md", "docs/pools.md"];

/// A block of code, and the file that the line before it links to.
struct Block<'a> {
    language: &'a str,
    file: Option<&'a str>,
    code: String,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let (mut found, mut before, mut lines) = (Vec::new(), "", page.lines());
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let code =
                lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
            let link = before.split_once("](../programs/").and_then(|(_, rest)| rest.split(')').next());
            found.push(Block { language, file: link, code });
            before = "";
        } else if !line.is_empty() {
            before = line;
        }
    }
    found
}

/// As it is wherever it stands.
fn without_indent(code: &str) -> String {
    code.lines().map(str::trim_start).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_code_of_a_page_is_that_of_its_program() {
    for page in PAGES {
        let text = fs::read_to_string(root().join(page)).expect("a page");
        let shown: Vec<_> =
            blocks(&text).into_iter().filter(|block| !["sh", "console"].contains(&block.language)).collect();
        assert!(shown.len() > 4, "{page} shows no program");
        for Block { language, file, code } in shown {
            let file =
                file.unwrap_or_else(|| panic!("{page}: no link to a file before this {language}:\n{code}"));
            let program = fs::read_to_string(root().join("programs").join(file)).expect("a file");
            assert!(
                without_indent(&program).contains(&without_indent(&code)),
                "violation[untrue]: {page}: {file} has no\n{code}"
            );
        }
    }
}
