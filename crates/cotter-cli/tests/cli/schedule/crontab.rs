//! `--from-crontab`.

use crate::env::{Output, Running, TestEnv};
use std::fs;
use std::process::Command;

const CRONTAB: &str = r#"# /etc/crontab
SHELL=/bin/sh
PATH="/usr/sbin:/usr/bin"
MAILTO=ops@example.org

17 *	* * *	root	cd / && run-parts --report /etc/cron.hourly
25 6	* * *	root	test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
@reboot root /usr/sbin/warm-up
*/5 * * * * app flock -n /run/lock/import /srv/import.sh --since $(date +\%F)
0 9 * * 1-5 root /usr/bin/report%Dear all,%it's "nine"
LANG=C
SHELL=/bin/bash
30 2 * * 7 root A=b nice -n 19 flock -n /run/lock/x a
@daily root flock -n /run/lock/y b
@weekly root flock -n /run/lock/y b
"#;

const FILE: &str = r##"group = "crontab"
timezone = "Europe/Berlin"

[defaults]
env = { PATH = "/usr/sbin:/usr/bin" }
on_failure = '''printf '%s\n' "$COTTER_OUTPUT" | mail -s "$COTTER_JOB: $COTTER_REASON" 'ops@example.org''''

# Line 8: @reboot root /usr/sbin/warm-up
# Left out: no slot of a job belongs to the start of a host. Its service manager can start the command.

# Line 6: 17 * * * * root cd / && run-parts --report /etc/cron.hourly
[job.cron-hourly]
crontab = "17 * * * *"
shell = "cd / && run-parts --report /etc/cron.hourly"

# Line 7: 25 6 * * * root test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
[job.cron-daily]
crontab = "25 6 * * *"
shell = "test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }"

# Line 9: */5 * * * * app flock -n /run/lock/import /srv/import.sh --since $(date +\%F)
# `flock -n /run/lock/import` is gone: the lock of the job does it, on all hosts.
[job.import]
crontab = "*/5 * * * *"
command = ["runuser", "-u", "app", "--", "/bin/sh", "-c", "/srv/import.sh --since $(date +%F)"]

# Line 10: 0 9 * * 1-5 root /usr/bin/report%Dear all,%it's "nine"
[job.report]
crontab = "0 9 * * 1-5"
"##;

impl TestEnv {
    fn converted(&self, text: &str, options: &[&str]) -> Output {
        let path = self.path("crontab");
        fs::write(&path, text).unwrap();
        let mut command = self.cotter(["schedule", "--from-crontab", path.to_str().unwrap()]);
        Running::start(command.args(options).env("TZ", "Europe/Berlin")).end()
    }
}

#[test]
fn a_crontab_becomes_a_job_file() {
    let env = TestEnv::new();
    let output = env.converted(CRONTAB, &["--user-column"]).code(0);
    let file = output.stdout.split_once("unless `cwd` and `env` say otherwise.\n").unwrap().1;
    assert_eq!(&file[..FILE.len()], FILE);
    for part in [
        r#"shell = '''printf '%s\n' 'Dear all,' 'it'\''s "nine"' | (/usr/bin/report)'''"#,
        "[job.a]\ncrontab = \"30 2 * * 7\"\ncommand = [\"/bin/bash\", \"-c\", \"A=b nice -n 19 flock -n /run/lock/x a\"]\nenv = { LANG = \"C\" }\n",
        "# `flock` stays: other lines have /run/lock/y, too.",
        "[job.b]\ncrontab = \"@daily\"\n",
        "[job.b-2]\ncrontab = \"@weekly\"\n",
    ] {
        assert!(file.contains(part), "{part}\n{file}");
    }
    assert_eq!(
        output.stderr.lines().collect::<Vec<_>>(),
        [
            "cotter: `runuser` needs a scheduler that runs as root; or write a file for each user",
            "cotter: line 8: `@reboot` has no counterpart and is left out",
        ]
    );
    let path = env.path("jobs.toml");
    fs::write(&path, &output.stdout).unwrap();
    let valid = env.run(["schedule", path.to_str().unwrap(), "--validate"]).code(0);
    assert!(valid.stdout.contains("7 jobs in group \"crontab\", no mistakes"), "{valid:?}");
    let json = env.converted(CRONTAB, &["--user-column", "--json"]).code(0).json();
    assert_eq!((&json[0]["jobs"], json[0]["file"].as_str()), (&7.into(), Some(&*output.stdout)));
}

/// The input that follows `%` reaches the command as it was.
#[test]
fn a_translated_command_does_what_cron_did() {
    let env = TestEnv::new();
    let crontab = format!(
        "* * * * * cat > {}/out; date +\\%Y >> {}/out%it's \"nine\"%$HOME\n",
        env.path("").display(),
        env.path("").display()
    );
    let file: toml::Table = env.converted(&crontab, &[]).code(0).stdout.parse().unwrap();
    let script = file["job"]["cat"]["shell"].as_str().unwrap();
    assert!(Command::new("sh").args(["-c", script]).status().unwrap().success());
    let out = fs::read_to_string(env.path("out")).unwrap();
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[..2], ["it's \"nine\"", "$HOME"]);
    assert!(lines[2].len() == 4 && lines[2].starts_with("20"), "{out}");
}

#[test]
fn mistakes_have_their_lines_and_print_no_file() {
    let env = TestEnv::new();
    let output = env.converted("A=b\n61 * * * * a\n* * * * *\n", &[]).code(78);
    assert_eq!(output.stdout, "");
    let lines: Vec<_> = output.stderr.lines().collect();
    assert!(lines[0].contains("crontab, line 2: ") && lines[0].contains("61"), "{output:?}");
    assert!(lines[1].ends_with("crontab, line 3: there is no command"), "{output:?}");
    let missing = env.run(["schedule", "--from-crontab", "/nowhere"]).code(78);
    assert!(missing.stderr.contains("/nowhere: cannot be read"), "{missing:?}");
}

#[test]
fn a_zone_is_that_of_the_lines_below_it() {
    let env = TestEnv::new();
    let output = env.converted("@daily a\nCRON_TZ=Asia/Tokyo\nMAILTO=\"\"\n@daily b\n", &[]).code(0);
    assert!(output.stdout.contains("\ntimezone = \"Europe/Berlin\"\n"), "{output:?}");
    assert!(output.stdout.contains("[job.a]\ncrontab = \"@daily\"\nshell = \"a\"\n"), "{output:?}");
    let b = "[job.b]\ncrontab = \"@daily\"\ntimezone = \"Asia/Tokyo\"\nshell = \"b\"\n";
    assert!(output.stdout.ends_with(b), "{output:?}");
    let output = env.converted("CRON_TZ=Asia/Tokio\n@daily b\n", &[]).code(78);
    assert!(output.stderr.contains("line 1: `CRON_TZ`") && output.stdout.is_empty(), "{output:?}");
}

/// Without the option, the user would be the program.
#[test]
fn a_column_that_was_not_named_is_doubted() {
    let env = TestEnv::new();
    let output = env.converted("0 * * * * root a\n1 * * * * root b\n", &[]).code(0);
    assert!(output.stderr.contains("add --user-column"), "{output:?}");
    let one = env.converted("0 * * * * root a\n1 * * * * b\n", &[]).code(0);
    assert_eq!(one.stderr, "");
}

#[test]
fn a_crontab_may_come_from_standard_input() {
    let env = TestEnv::new();
    let mut reading = env.start(["schedule", "--from-crontab", "-"]);
    reading.write("@hourly a\n");
    let output = reading.let_go().code(0);
    assert!(output.stdout.contains("[job.a]\ncrontab = \"@hourly\"\nshell = \"a\"\n"), "{output:?}");
}
