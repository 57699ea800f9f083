//! Pictures, as SVG. Whatever comes from elsewhere is text: nothing in it can end an element or an attribute.

use std::fmt::Write;

/// A picture, element by element.
#[derive(Debug, Default)]
pub struct Svg(String);

impl Svg {
    /// A bar (left, top, width, height), with a text that is shown to those who point at it.
    pub fn bar(&mut self, [x, y, width, height]: [f64; 4], colour: &str, opacity: f64, told: &str) {
        let width = width.max(0.5);
        let _ = writeln!(
            self.0,
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{colour}\" \
             fill-opacity=\"{opacity}\"><title>{}</title></rect>",
            escaped(told)
        );
    }

    /// A thin line between two points.
    pub fn line(&mut self, [x, y]: [f64; 2], [to_x, to_y]: [f64; 2], colour: &str) {
        let _ = writeln!(
            self.0,
            "<line x1=\"{x:.2}\" y1=\"{y:.2}\" x2=\"{to_x:.2}\" y2=\"{to_y:.2}\" stroke=\"{colour}\"/>"
        );
    }

    /// A text that begins there.
    pub fn text(&mut self, [x, y]: [f64; 2], colour: &str, text: &str) {
        let _ =
            writeln!(self.0, "<text x=\"{x:.2}\" y=\"{y:.2}\" fill=\"{colour}\">{}</text>", escaped(text));
    }

    /// The file.
    #[must_use]
    pub fn document(self, width: f64, height: f64) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{}</svg>\n",
            self.0
        )
    }
}

/// What XML has no signs for is replaced.
fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut text, c| {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            '\'' => text.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => text.push(' '),
            c => text.push(c),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(escaped("a<b>&'\"\u{0}\n"), "a&lt;b&gt;&amp;&#39;&quot;  ");
    }
}
