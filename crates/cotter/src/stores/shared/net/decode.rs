//! Percent-decoding.

use crate::Result;
use crate::error::config;

/// Percent-decodes a part of a URL. The error names the part, but never quotes it.
pub(crate) fn decode(part: &str, text: &str) -> Result<String> {
    let wrong = || config(format!("the {part} in the URL is not percent-encoded UTF-8"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        // A sign is a number to the parser, too.
        let hex = rest.get(..2).filter(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok()).ok_or_else(wrong)?;
        bytes.push(u8::from_str_radix(hex, 16).map_err(|_| wrong())?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}
