//! Passwords in URLs, encoded and not.

use crate::Client;

/// A slash ends the hosts, and a question mark everything before the options.
#[test]
fn a_password_that_is_not_encoded_is_not_repeated() {
    for url in [
        "redis://:sec/ret@host/0",
        "redis://user:sec/ret@host/0",
        "redis://user:sec?ret@host/0",
        "redis://user:1?ret@host/0",
        "redis://user:1?sec@host/0?timeout=1s",
        "redis://user:1/ret@host/0",
        "redlock://user:sec/ret@a,b,c",
        #[cfg(feature = "postgres")]
        "postgres://user:sec/ret@host/db",
        #[cfg(feature = "mysql")]
        "mysql://user:sec?ret@host/db",
    ] {
        let error = Client::builder().connect(url).wait().unwrap_err().to_string();
        assert!(error.contains("%2F") || error.contains("%3F"), "{url}: {error}");
        assert!(!error.contains("sec") && !error.contains("ret"), "{url}: {error}");
    }
    for url in ["redis://host:seven", "redis://", "redis://host:70000", "redis://u:p@host:seven"] {
        let error = Client::builder().connect(url).wait().unwrap_err().to_string();
        assert_eq!(error.contains("%2F"), url == "redis://host:seven", "{url}: {error}");
    }
}

/// Wherever a password breaks off because it is not encoded, no part of it is taken for something else and repeated.
#[test]
fn no_part_of_a_password_is_repeated() {
    let strange = " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\n\t\0é€\u{1F511}";
    let mut passwords = Vec::new();
    for c in strange.chars() {
        for (before, after) in [("12", "Xj9Vb"), ("Kq7Zw", "")] {
            passwords.push(format!("{before}{c}{after}"));
            for d in ['/', '?', '@', '&', '=', ':'] {
                passwords.push(format!("{before}{c}{after}{d}Hy5Gd"));
                passwords.push(format!("Hy5Gd{d}{before}{c}{after}=Pn8"));
            }
        }
    }
    for password in &passwords {
        for (scheme, end) in SERVERS {
            is_kept(&format!("{scheme}://Mt4Rk:{password}@{end}"), password);
            is_kept(&format!("{scheme}://:{password}@{end}?timeout=2s"), password);
        }
        is_kept(&format!("redis:Mt4Rk:{password}@h"), password);
        is_kept(&format!("Mt4Rk:{password}@h:6379/0"), password);
        is_kept(&format!(":{password}@h:6379/0"), password);
    }
}

const SERVERS: &[(&str, &str)] = &[
    #[cfg(feature = "redis")]
    ("redis", "h"),
    #[cfg(feature = "redis")]
    ("redis+sentinel", "h:1,i/orders/2"),
    #[cfg(feature = "redis")]
    ("redlock", "h:1,i,j/2"),
    #[cfg(feature = "postgres")]
    ("postgres", "localhost:1/db"),
    #[cfg(feature = "postgres")]
    ("postgresql", "localhost"),
    #[cfg(feature = "mysql")]
    ("mysql", "localhost/db"),
    #[cfg(feature = "etcd")]
    ("etcd", "h,i:1"),
    #[cfg(feature = "zookeeper")]
    ("zookeeper", "h,i/path"),
];

/// Neither an error nor the store shows three characters of the password in a row, of which two are letters or digits: others
/// are in any text.
fn is_kept(url: &str, password: &str) {
    let said = match crate::api::url::parse(url) {
        Ok(store) => format!("{store:?}"),
        Err(error) => format!("{error} {error:?}"),
    };
    let letters: Vec<char> = password.chars().collect();
    for piece in letters.windows(3).filter(|piece| piece.iter().filter(|c| c.is_alphanumeric()).count() > 1) {
        let piece = String::from_iter(piece);
        let quoted = format!("{piece:?}");
        let is_found = said.contains(&piece) || said.contains(quoted.trim_matches('"'));
        assert!(!is_found, "{piece:?} of {url:?} in {said}");
    }
}

/// An `@` elsewhere is no end of a password.
#[test]
fn an_at_sign_is_taken_where_it_can_be_nothing_else() {
    for (url, refused) in [
        ("redis://u:p@h:6379?client_name=app@host", false),
        ("redis://h:6379?client_name=app@host", false),
        ("redis://u:p@w@h/0", false),
        ("unix:///run/app@1/redis.sock", false),
        #[cfg(feature = "file")]
        ("flock:/run/app@1/lock", false),
        ("redis://h/0?colour=a@b", true),
        ("redis://u:12/ab@h", true),
        ("redis://u:p@w/x@h", true),
        #[cfg(feature = "mysql")]
        ("mysql://h/jobs?socket=/run/app@1/my.sock", false),
        #[cfg(feature = "mysql")]
        ("mysql://h/jobs%40app", false),
        #[cfg(feature = "mysql")]
        ("mysql://u:12/ab@h/jobs", true),
        ("redis://u:50%+1@h", true),
    ] {
        assert_eq!(crate::api::url::parse(url).is_err(), refused, "{url}");
    }
}
