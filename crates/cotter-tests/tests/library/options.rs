//! The options that the pages of docs/stores/ list are those that the stores take.

use cotter::Client;
use std::collections::BTreeSet;

const COMMON: &str = include_str!("../../../../docs/stores.md");

/// The names of options in a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The options in the rows of tables: those of their first cells.
fn rows(text: &str) -> BTreeSet<&str> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    rows.flat_map(|cell| cell.split("`, `").map(|name| name.trim_end_matches('`'))).collect()
}

/// The options that a page lists: in its own tables, and by the names of those that several stores have.
fn listed(page: &str) -> BTreeSet<&str> {
    let (_, section) = page.split_once("\n## URL and options\n").expect("the section");
    let section = section.split("\n## ").next().expect("its end");
    let mut all = rows(section);
    for shared in section.split("\n\n").filter_map(|part| part.strip_prefix("Common options")) {
        let (_, common) = COMMON.split_once("\n## Common options\n").expect("the section");
        let common = rows(common.split("\n## ").next().expect("its end"));
        for name in names(shared) {
            assert!(common.contains(name) && all.insert(name), "{name} is no common option, or listed twice");
        }
    }
    all
}

#[tokio::test]
async fn the_options_of_each_store_are_on_its_page() {
    const STORES: [(&str, bool, &str); 7] = [
        (
            "redis+sentinel://h/s?nonsense=1",
            cfg!(feature = "redis"),
            include_str!("../../../../docs/stores/redis.md"),
        ),
        (
            "redlock://a,b,c?nonsense=1",
            cfg!(feature = "redis"),
            include_str!("../../../../docs/stores/redlock.md"),
        ),
        ("etcd://h?nonsense=1", cfg!(feature = "etcd"), include_str!("../../../../docs/stores/etcd.md")),
        (
            "zookeeper://h?nonsense=1",
            cfg!(feature = "zookeeper"),
            include_str!("../../../../docs/stores/zookeeper.md"),
        ),
        (
            "postgres://u@h/d?nonsense=1",
            cfg!(feature = "postgres"),
            include_str!("../../../../docs/stores/postgres.md"),
        ),
        (
            "mysql://u@h/d?nonsense=1",
            cfg!(feature = "mysql"),
            include_str!("../../../../docs/stores/mysql.md"),
        ),
        (
            "sqlite:///f?nonsense=1",
            cfg!(feature = "sqlite"),
            include_str!("../../../../docs/stores/sqlite.md"),
        ),
    ];
    for (url, _, page) in STORES.into_iter().filter(|(_, is_built, _)| *is_built) {
        let error = Client::connect(url).await.expect_err("there is no such option").to_string();
        let (_, known) = error.split_once("the options are ").unwrap_or_else(|| panic!("{url}: {error}"));
        assert_eq!(listed(page), known.split(", ").collect(), "{url}");
    }
}
