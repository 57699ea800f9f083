//! Paths in URLs.

/// A path as a part of a URL.
pub fn encoded(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    path.bytes().fold(String::new(), |text, byte| match plain(byte) {
        true => text + &char::from(byte).to_string(),
        false => text + &format!("%{byte:02X}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_encoded_so_that_nothing_ends_it() {
        assert_eq!(encoded("/run/a b&c?d#é:@%"), "/run/a%20b%26c%3Fd%23%C3%A9%3A%40%25");
    }
}
