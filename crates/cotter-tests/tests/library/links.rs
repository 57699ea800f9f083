//! The links between the pages of this repository lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// All pages: those beside the manifest, and those of docs and its folders.
pub(crate) fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["", "docs", "docs/adr", "docs/stores"] {
        let entries =
            fs::read_dir(root().join(folder)).expect("a folder").map(|entry| entry.expect("an entry").path());
        found.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    found
}

/// The lines of a page outside of its blocks of code.
fn prose(page: &Path) -> String {
    let text = fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    let mut is_code = false;
    let is_prose = |line: &&str| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    };
    text.lines().filter(is_prose).collect::<Vec<_>>().join("\n")
}

/// The anchors of the headings of a page that begin so, `"#"` for all: as a reader of the repository gets them.
pub(crate) fn headings(page: &Path, begin: &str) -> BTreeSet<String> {
    let anchor = |title: &str| {
        let is_kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
        title.to_lowercase().chars().filter(is_kept).collect::<String>().replace(' ', "-")
    };
    let text = prose(page);
    let titles = text.lines().filter(|line| line.starts_with(begin));
    titles.map(|line| anchor(line.trim_start_matches('#').trim_start())).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = prose(&page);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.clone() } else { page.with_file_name(path) };
            let is_there =
                target.exists() && (heading.is_empty() || headings(&target, "#").contains(heading));
            if !is_there {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// A page that the contents lack is not in the site that `scripts/site` makes; decisions are listed by that of all.
#[test]
fn every_page_is_in_the_contents() {
    let docs = root().join("docs");
    let contents = fs::read_to_string(docs.join("SUMMARY.md")).expect("the contents");
    let is_listed = |page: &PathBuf| {
        let path = page.strip_prefix(&docs).expect("it is below").display().to_string();
        contents.matches(&format!("]({path})")).count() == 1
    };
    let is_page = |page: &PathBuf| {
        !page.ends_with("SUMMARY.md")
            && !page.ends_with("adr/README.md")
            && !page.starts_with(docs.join("adr"))
    };
    let missing: Vec<_> =
        below(&docs, "md").into_iter().filter(is_page).filter(|page| !is_listed(page)).collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md, or twice: {missing:?}");
}

/// Where a page of this version is found by those who have only the package of a crate.
const RELEASED: &str = concat!("https://github.com/cotter-rs/cotter/blob/v", env!("CARGO_PKG_VERSION"), "/");
const REPOSITORY: &str = "https://github.com/cotter-rs/cotter/";

/// All files below a folder with this extension.
fn below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let (folders, mut files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.extend(folders.iter().flat_map(|folder| below(folder, extension)));
    files
}

/// The pages and the sources that are in the packages of crates.
fn packaged() -> Vec<PathBuf> {
    let crates = fs::read_dir(root().join("crates")).expect("a folder");
    let folders: Vec<_> = crates.map(|entry| entry.expect("an entry").path()).collect();
    let readmes = folders.iter().map(|folder| folder.join("README.md")).filter(|page| page.exists());
    readmes.chain(folders.iter().flat_map(|folder| below(&folder.join("src"), "rs"))).collect()
}

/// Not those of `main`, which tell of another version one day.
#[test]
fn what_is_in_packages_links_to_the_pages_of_this_version() {
    let (mut broken, mut good) = (Vec::new(), 0);
    for file in packaged() {
        let text = fs::read_to_string(&file).expect("text");
        let is_page = file.extension().is_some_and(|extension| extension == "md");
        let relative = text.split("](").skip(1).filter(|link| is_page && !link.starts_with("https://"));
        broken.extend(relative.map(|link| format!("{}: {}", file.display(), &link[..link.len().min(60)])));
        for (at, _) in text.match_indices(REPOSITORY) {
            let link = text[at..].split([')', ' ', '\n', '"', '>']).next().unwrap_or_default();
            let place = link.strip_prefix(RELEASED).unwrap_or("not of this version");
            let (path, heading) = place.split_once('#').unwrap_or((place, ""));
            let target = root().join(path);
            let is_there =
                target.exists() && (heading.is_empty() || headings(&target, "#").contains(heading));
            if is_there {
                good += 1;
            } else {
                broken.push(format!("{}: {link}", file.display()));
            }
        }
    }
    assert!(broken.is_empty() && good > 10, "{good} are good; not so {broken:#?}");
}
