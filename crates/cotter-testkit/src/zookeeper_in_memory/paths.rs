//! Which paths there can be.

/// Whether a node may have this path.
pub(super) fn is_valid(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else { return false };
    rest.is_empty()
        || rest.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.contains(is_refused))
}

fn is_refused(c: char) -> bool {
    // Whatever takes two units of UTF-16 is refused with the surrogates.
    matches!(c, '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
}

/// The path of the folder; that of the root is empty.
pub(super) fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

/// Nodes that the server needs for itself.
pub(super) fn is_special(path: &str) -> bool {
    matches!(path, "/" | "/zookeeper" | "/zookeeper/quota" | "/zookeeper/config")
}
