//! The alerts and the board in `packaging/`.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;

const RULES: &str = include_str!("../../../../packaging/prometheus/cotter.rules.yml");
const CASES: &str = include_str!("../../../../packaging/prometheus/cotter.test.yml");
const BOARD: &str = include_str!("../../../../packaging/grafana/cotter.json");
const JOBS: &str = include_str!("../../../../docs/jobs.md");
const SEEN: &str = include_str!("../../../../docs/observability.md");

/// The metrics that a text names.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let metrics = words.filter(|word| word.starts_with("cotter_"));
    metrics
        .map(|word| ["_bucket", "_sum", "_count"].iter().fold(word, |word, end| word.trim_end_matches(end)))
        .collect()
}

fn alerts(rules: &str) -> Vec<&str> {
    rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect()
}

fn panels() -> Vec<Value> {
    let board: Value = serde_json::from_str(BOARD).unwrap();
    board["panels"].as_array().unwrap().clone()
}

/// The expressions of the board, with something in place of its variables.
fn expressions() -> Vec<String> {
    let targets = panels().into_iter().filter_map(|panel| panel["targets"].as_array().cloned()).flatten();
    let plain = |text: &str| text.replace("$__rate_interval", "5m").replace("$group", ".*");
    targets.map(|target| plain(target["expr"].as_str().unwrap())).collect()
}

#[test]
fn they_name_no_metric_that_does_not_exist() {
    for (what, text) in [("alerts", RULES), ("cases", CASES), ("board", BOARD)] {
        let named = metrics(text);
        assert!(named.len() > 10, "{what}: {named:?}");
        for metric in named {
            let row = format!("| `{metric}`");
            assert!(JOBS.contains(&row) || SEEN.contains(&row), "{what}: no page lists {metric}");
        }
    }
}

#[test]
fn each_alert_has_a_case_and_stands_on_the_page() {
    let alerts = alerts(RULES);
    assert!(alerts.len() > 10, "{alerts:?}");
    for alert in &alerts {
        assert!(
            CASES.contains(&format!("alertname: {alert}, exp_alerts: [{{")),
            "{alert}: no case in which it fires"
        );
        assert!(SEEN.contains(&format!("| `{alert}` |")), "docs/observability.md does not list {alert}");
    }
    let listed = SEEN.lines().filter(|line| line.starts_with("| `Cotter")).count();
    assert_eq!(listed, alerts.len(), "docs/observability.md lists alerts that do not exist");
}

#[test]
fn each_panel_of_the_board_has_a_place_a_unit_and_the_chosen_source() {
    let mut taken = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in panels() {
        let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(x < 24 && taken.insert((x, y)), "{}: there is another one", panel["title"]);
            }
        }
        assert!(ids.insert(panel["id"].as_u64()), "{}: its id is taken", panel["title"]);
        if panel["type"] == "row" {
            continue;
        }
        assert!(panel["fieldConfig"]["defaults"]["unit"].is_string(), "{}: no unit", panel["title"]);
        for target in panel["targets"].as_array().unwrap() {
            assert_eq!(target["datasource"], json!({ "type": "prometheus", "uid": "${source}" }));
            assert!(
                target["legendFormat"].as_str().is_some_and(|legend| !legend.is_empty()),
                "{}",
                panel["title"]
            );
        }
    }
    assert!(expressions().len() > 20);
}

mod long_run {
    use super::*;
    use std::fs;

    fn promtool(words: &[&str]) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/prometheus");
        let done = Command::new("promtool").args(words).current_dir(folder).output().unwrap();
        let said =
            [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(done.status.success(), "promtool {words:?}: {said}");
    }

    #[test]
    #[ignore = "needs promtool"]
    fn each_alert_fires_and_is_silent_as_its_cases_say() {
        promtool(&["check", "rules", "cotter.rules.yml"]);
        promtool(&["test", "rules", "cotter.test.yml"]);
    }

    #[test]
    #[ignore = "needs promtool"]
    fn each_expression_of_the_board_is_one() {
        let rules: Vec<_> = expressions()
            .into_iter()
            .enumerate()
            .map(|(n, expr)| json!({ "record": format!("board:panel:{n}"), "expr": expr }))
            .collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        // Any JSON is YAML.
        fs::write(file.path(), json!({ "groups": [{ "name": "board", "rules": rules }] }).to_string())
            .unwrap();
        promtool(&["check", "rules", "--lint=none", file.path().to_str().unwrap()]);
    }
}
