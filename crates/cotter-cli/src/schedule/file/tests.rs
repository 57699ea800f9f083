//! Valid files, and all mistakes at once.

use super::*;
use std::collections::BTreeSet;

fn mistakes(text: &str) -> Vec<(usize, String)> {
    let found = parse(Path::new("jobs.toml"), text).expect_err("there is a mistake");
    found.into_iter().map(|mistake| (mistake.line, mistake.message)).collect()
}

fn one(text: &str) -> String {
    let all = mistakes(text);
    assert_eq!(all.len(), 1, "{all:?}");
    format!("{}: {}", all[0].0, all[0].1)
}

/// A group and a job around one line of it, which is line 5.
fn job(line: &str) -> String {
    format!("group = \"g\"\n[job.a]\nfixed_rate = \"1s\"\ncommand = [\"true\"]\n{line}\n")
}

#[test]
fn the_page_of_the_manual_is_understood() {
    let text = include_str!("example.toml");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/jobs.md");
    assert!(fs::read_to_string(page).unwrap().contains(text), "example.toml is not what docs/jobs.md shows");
    let file = parse(Path::new("jobs.toml"), text).unwrap();
    assert_eq!((file.group.as_str(), file.workers, file.history), ("orders", Some(10), Some(100)));
    assert_eq!(file.place, Some(StoreRef::Named("prod".into())));
    let [job] = &file.jobs[..] else { panic!("{file:?}") };
    assert_eq!(job.trigger.to_string(), "cron 0/10 * * * * ? in Asia/Shanghai");
    let launch = job.launch(vec![("X".into(), "y".into())]);
    assert_eq!(launch.argv, ["./clear-orders", "--all"]);
    assert_eq!(launch.env, [("MODE".to_owned(), "live".to_owned()), ("X".to_owned(), "y".to_owned())]);
    assert_eq!(launch.cwd.as_deref(), Some(Path::new("/srv/orders")));
}

/// A key that the manual lacks is known to nobody, and one that it has too many is a mistake in every file.
#[test]
fn the_manual_has_a_row_for_every_key() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/jobs.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, tables) = page.split_once("### Keys of the file").expect("the tables");
    let (tables, _) = tables.split_once("### The store").expect("their end");
    let cells = tables.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let names = cells.flat_map(|cell| cell.split("`, `")).map(|name| name.trim_matches(['`', '[', ']']));
    let rows: BTreeSet<_> = names.map(|name| name.trim_end_matches(".NAME")).collect();
    let alternatives = "cron crontab fixed_rate fixed_delay once_at on_demand after command shell".split(' ');
    let known: BTreeSet<_> = KEYS.iter().chain(job::SHARED).copied().chain(alternatives).collect();
    assert_eq!(rows, known);
}

#[test]
fn all_mistakes_at_once_in_order_of_their_lines() {
    let text = "gruop = \"g\"\nworkers = 0\n[defaults]\nttl = 5\n[job.a]\nfixed_rate = \"5\"\ncommand = []\n\
                [job.b]\ncron = \"0 0 25 * * ?\"\nshell = \"x\"\nmisfrie = \"skip\"\n[job.c]\n";
    let found = mistakes(text);
    let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 1, 2, 4, 6, 7, 9, 11, 12, 12], "{found:#?}");
    let all = found.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
    for says in [
        "unknown key `gruop`; did you mean `group`?",
        "`group` is missing",
        "`workers`: it is zero",
        "[defaults]: `ttl`: a duration needs a unit: write 5s or 5ms",
        "job \"a\": `fixed_rate`: a duration needs a unit",
        "job \"a\": `command`: there is no program in it",
        "job \"b\": `cron`: ",
        "job \"b\": unknown key `misfrie`; did you mean `misfire`?",
        "job \"c\": one of `cron`, `crontab`, `fixed_rate`, `fixed_delay`, `once_at`, `on_demand`, `after` is missing",
        "job \"c\": one of `command`, `shell` is missing",
    ] {
        assert!(all.contains(says), "no {says:?} in\n{all}");
    }
}

#[test]
fn what_is_not_toml_is_told_with_its_line_and_without_the_text() {
    let found = mistakes("group = \"g\"\nurl = redis://:secret@h\n[job.a\n");
    assert!(found.iter().any(|(line, _)| *line == 2), "{found:?}");
    assert!(found.iter().any(|(line, _)| *line == 3), "{found:?}");
    assert!(found.iter().all(|(_, text)| !text.contains("secret")), "{found:?}");
}

#[test]
fn values_say_what_to_write() {
    for (line, says) in [
        (
            "misfire = \"sometimes\"",
            "5: job \"a\": `misfire`: \"sometimes\" is not one of \"skip\", \"once\", \"all\"",
        ),
        ("cwd = \"here\"", "5: job \"a\": `cwd`: write an absolute path"),
        ("env = { COTTER_URL = \"x\" }", "5: job \"a\": `env`: \"COTTER_URL\" is reserved for cotter"),
        ("env = { A = 1 }", "5: job \"a\": `env`: \"A\" is a number; write a \"string\""),
        ("enabled = \"yes\"", "5: job \"a\": `enabled`: found a string; write true or false"),
        ("ttl = \"200ms\"", "5: job \"a\": `ttl`: the minimum is 300ms, to leave time to stop the command"),
        ("ttl = \"400d\"", "5: job \"a\": `ttl`: the maximum is a year"),
        (
            "priority = 1e3",
            "5: job \"a\": `priority`: found a number with a decimal point or an exponent; write a whole number",
        ),
        ("retries = -1", "5: job \"a\": `retries`: -1 is not a number"),
        ("max_run = \"0s\"", "5: job \"a\": `max_run`: a duration of zero is not allowed here"),
        ("shell = \"true\"", "5: job \"a\": only one of `command`, `shell` can be set"),
        ("once_at = \"2031-05-02\"", "5: job \"a\": only one of `cron`, `crontab`, `fixed_rate`"),
        (
            "concurrency = \"allow\"",
            "5: job \"a\": `concurrency`: \"allow\" is not one of \"forbid\", \"replace\"",
        ),
        ("lock = \"a\\nb\"", "5: job \"a\": `lock`: "),
        ("lock = \"g/b\"", "2: job \"a\": \"g/b\" cannot be shared"),
        ("limit = 3", "5: job \"a\": `limit`: found a number; write { name = \"reports\", of = 3 }"),
        ("limit = { name = \"x\" }", "5: job \"a\": `limit`: it needs `name` and `of`, and nothing else"),
        ("limit = { name = \"x\", of = 0 }", "5: job \"a\": `limit`: `of`: it is zero"),
        ("priority = \"high\"", "5: job \"a\": `priority`: found a string; write a whole number"),
        ("timezone = \"Asia/Shangai\"", "5: job \"a\": `timezone`: "),
    ] {
        let found = one(&job(line));
        assert!(found.starts_with(says), "{line}: {found}");
    }
}

#[test]
fn a_mistake_in_the_defaults_is_told_once() {
    let text = "group = \"g\"\n[defaults]\nbusy = \"no\"\ncron = \"x\"\n[job.a]\nfixed_rate = \"1s\"\nshell = \"x\"\n\
                [job.b]\nfixed_rate = \"1s\"\nshell = \"x\"\n";
    let found = mistakes(text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].1.starts_with("[defaults]: `busy`: \"no\" is not one of"));
    assert!(found[1].1.starts_with("[defaults]: unknown key `cron`"));
}

#[test]
fn a_slash_in_the_name_of_a_job_is_refused() {
    let text = "group = \"g\"\n[job.\"a/b\"]\nfixed_rate = \"1s\"\nshell = \"x\"\n";
    assert!(one(text).starts_with("2: job \"a/b\": the name contains '/'"), "{}", one(text));
}

/// With mistakes of every other kind in the same job, in the group, and without a group.
#[test]
fn what_the_scheduler_refuses_is_told_with_all_other_mistakes() {
    let jobs = "[job.\"a/b\"]\nshell = \"x\"\nttl = \"1ms\"\nretry_delay = \"2s\"\nmax_retry_delay = \"1s\"\n\
                lock = \"x\"\nlimit = { name = \"x\", of = 1 }\n";
    let parts = ["the name contains '/'", "`ttl`", "`fixed_rate`", "max_retry_delay", "the same name"];
    for group in ["", "group = \"g\"\n", "group = \"\"\n"] {
        let all = mistakes(&format!("{group}{jobs}"));
        for part in parts {
            assert!(all.iter().any(|(_, message)| message.contains(part)), "{part} with {group:?}: {all:#?}");
        }
    }
}

#[test]
fn once_at_is_a_string_or_a_time_and_always_has_an_offset() {
    let job = |at: &str| format!("group = \"g\"\n[job.a]\nshell = \"x\"\nonce_at = {at}\n");
    for at in ["2031-05-02T10:00:00Z", "\"2031-05-02T10:00:00Z\"", "2031-05-02T18:00:00+08:00"] {
        let file = parse(Path::new("jobs.toml"), &job(at)).unwrap();
        assert_eq!(file.jobs[0].trigger.to_string(), "once at 2031-05-02T10:00:00Z");
    }
    assert!(one(&job("2031-05-02T10:00:00")).starts_with("4: job \"a\": `once_at`: "));
}

#[test]
fn slots_are_excluded_by_day_and_by_expression() {
    let job = |lines: &str| format!("group = \"g\"\n[job.a]\nshell = \"x\"\n{lines}\n");
    let text = "cron = \"0 0 3 * * ?\"\nstarts = 2031-01-01T00:00:00Z\nends = \"2031-12-31T00:00:00+08:00\"\n\
                exclude = [\"2031-12-25\", \"* * * ? * SUN\"]";
    let file = parse(Path::new("jobs.toml"), &job(text)).unwrap();
    let found = file.jobs[0].trigger.to_string();
    let wanted = "cron 0 0 3 * * ? in UTC [from 2031-01-01T00:00:00Z; until 2031-12-30T16:00:00Z; except 2031-12-25; \
                  except cron * * * ? * SUN]";
    assert_eq!(found, wanted);
    for (lines, says) in [
        (
            "cron = \"0 0 3 * * ?\"\nexclude = \"2031-12-25\"",
            "5: job \"a\": `exclude`: found a string; write [",
        ),
        (
            "cron = \"0 0 3 * * ?\"\nexclude = [\"2031-12\"]",
            "5: job \"a\": `exclude`: \"2031-12\" is not a day",
        ),
        ("cron = \"0 0 3 * * ?\"\nexclude = [\"* * 25 * * ?\"]", "5: job \"a\": `exclude`: "),
        (
            "fixed_rate = \"1s\"\nexclude = [\"2031-12-25\"]",
            "5: job \"a\": `exclude`: only slots of a cron expression",
        ),
        ("fixed_rate = \"1s\"\nstarts = 2031-12-25", "5: job \"a\": `starts`: "),
    ] {
        let found = one(&job(lines));
        assert!(found.starts_with(says), "{lines}: {found}");
    }
}

#[test]
fn a_line_of_a_crontab_is_a_trigger_in_the_zone_of_the_job() {
    let job = |line: &str| {
        format!("group = \"g\"\ntimezone = \"Asia/Shanghai\"\n[job.a]\nshell = \"x\"\ncrontab = {line:?}\n")
    };
    let file = parse(Path::new("jobs.toml"), &job("0 9 13 * 1-5")).unwrap();
    assert_eq!(file.jobs[0].trigger.to_string(), "crontab 0 9 13 * MON-FRI in Asia/Shanghai");
    let now = "2031-05-02T10:00:00Z".parse().unwrap();
    let doubts = file.jobs[0].doubts(now).join("\n");
    assert!(!doubts.contains("day of the week"), "numbers mean what they mean in a crontab: {doubts}");
    for (line, says) in [
        ("0 9 * * 1-8", "day-of-week, column 11: 8 is not a day of the week"),
        ("0 0 9 * * MON", "this is the Quartz dialect"),
        ("0 9 * * * /bin/report", "column 11: the command of the line does not belong here"),
    ] {
        let found = one(&job(line));
        assert!(found.starts_with("5: job \"a\": `crontab`: ") && found.contains(says), "{line}: {found}");
    }
    let five = one(&job("0 9 13 * 5").replace("crontab =", "cron ="));
    assert!(five.contains("which only `crontab` takes"), "{five}");
}

#[test]
fn on_demand_is_true_or_left_out() {
    let job = |yes: &str| format!("group = \"g\"\n[job.a]\nshell = \"x\"\non_demand = {yes}\n");
    let file = parse(Path::new("jobs.toml"), &job("true")).unwrap();
    assert_eq!(file.jobs[0].trigger.to_string(), "on demand");
    assert!(one(&job("false")).starts_with("4: job \"a\": `on_demand`: write true, or leave it out"));
}

#[test]
fn a_job_has_what_the_defaults_and_the_top_have_unless_it_says_otherwise() {
    let text = "group = \"g\"\ntimezone = \"Asia/Shanghai\"\n[defaults]\nenabled = false\n\
                [job.a]\ncron = \"0 0 1 * * ?\"\nshell = \"x\"\n\
                [job.b]\ncron = \"0 0 1 * * ?\"\nshell = \"x\"\nenabled = true\ntimezone = \"UTC\"\n";
    let file = parse(Path::new("jobs.toml"), text).unwrap();
    let found: Vec<_> = file.jobs.iter().map(|job| (job.zone.name(), job.enabled)).collect();
    assert_eq!(found, [("Asia/Shanghai", false), ("UTC", true)]);
}

/// The arguments of a program end with it: the command would run with others, or a script without its end.
#[test]
fn a_command_without_nul_characters_only() {
    for (line, key) in [
        ("on_failure = \"echo x\\u0000y\"", "on_failure"),
        ("on_success = [\"echo\", \"x\\u0000y\"]", "on_success"),
        ("cwd = \"/tmp\\u0000/etc\"", "cwd"),
    ] {
        let says = format!("5: job \"a\": `{key}`: it contains a NUL character");
        assert!(one(&job(line)).starts_with(&says), "{line}: {}", one(&job(line)));
    }
    for line in ["command = [\"echo\", \"a\\u0000b\"]", "shell = \"echo a\\u0000b; exit 3\""] {
        let found = one(&format!("group = \"g\"\n[job.a]\nfixed_rate = \"1s\"\n{line}\n"));
        assert!(found.contains("it contains a NUL character"), "{line}: {found}");
    }
}
