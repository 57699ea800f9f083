//! The text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write};

/// The content type of the format.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page that is being written.
#[derive(Default)]
pub(crate) struct Page(String);

impl Page {
    /// Begins a metric; its samples follow.
    pub(crate) fn metric(&mut self, name: &str, kind: &str, help: &str) {
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    pub(crate) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.write(format_args!("{} {value}\n", series(name, labels)));
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        self.0.write_fmt(text).expect("a string takes it");
    }
}

/// A series, as a sample of it begins.
pub(crate) fn series(name: &str, labels: &[(&str, &str)]) -> String {
    let labels: Vec<_> = labels.iter().map(|(key, text)| format!("{key}=\"{}\"", escaped(text))).collect();
    format!("{name}{{{}}}", labels.join(","))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut page = Page::default();
        page.metric("a_total", "counter", "What is counted.");
        page.sample("a_total", &[("job", "a\"b\\c\nd"), ("outcome", "ok")], 3);
        let text = "# HELP a_total What is counted.\n# TYPE a_total counter\n\
                    a_total{job=\"a\\\"b\\\\c\\nd\",outcome=\"ok\"} 3\n";
        assert_eq!(page.finish(), text);
    }
}
