//! Who may change something: whoever has the key. All users of the host can reach the pages, so that the address is none.

use axum::extract::Request;
use axum::http::header::{COOKIE, HOST, HeaderName, LOCATION, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use std::fmt;

/// What only this process and those know to whom it tells it.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// 128 bits of the system: nobody guesses them, however often he tries.
    pub(crate) fn random() -> Self {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system has random numbers");
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// One that somebody else has made.
    pub(crate) fn known(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for whoever is to know it.
    pub(crate) fn told(&self) -> &str {
        &self.0
    }

    /// Whether it is this one. How long that takes does not tell how much of it is right.
    pub(crate) fn is(&self, other: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), other.as_bytes());
        own.len() == other.len() && own.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    }
}

/// Where the key is asked for.
#[derive(Debug)]
pub(crate) struct Door {
    key: Secret,
    /// Whoever has shown the key has a cookie of this name. It differs from those of other dashboards, because a browser keeps cookies by
    /// host, without the port.
    cookie: String,
    session: Secret,
    /// In each form of these pages, and in none of others.
    form: Secret,
}

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

impl Door {
    pub(crate) fn new(key: Secret) -> Self {
        let cookie = format!("cotter-{}", &Secret::random().told()[..8]);
        Self { key, cookie, session: Secret::random(), form: Secret::random() }
    }

    /// What its forms have to bring.
    pub(crate) fn form(&self) -> &Secret {
        &self.form
    }

    /// Whether whoever asks has shown the key.
    pub(crate) fn is_open(&self, headers: &HeaderMap) -> bool {
        let all = headers.get_all(COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
        let mut each =
            all.flat_map(|cookies| cookies.split(';')).filter_map(|one| one.trim().split_once('='));
        each.any(|(name, value)| name == self.cookie && self.session.is(value))
    }

    /// Answers whoever shows a key: with a cookie, and with the address of the locks, so that the key does not stay in sight.
    pub(crate) fn enter(&self, key: &str) -> Response {
        if !self.key.is(key) {
            return (StatusCode::FORBIDDEN, "this is not the key of this dashboard\n").into_response();
        }
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie, self.session.told());
        (StatusCode::SEE_OTHER, [(SET_COOKIE, &*cookie), (LOCATION, "/")]).into_response()
    }

    /// Why a request to change something, or for the form to do so, is refused before it is read, if it is.
    pub(crate) fn refusal(&self, request: &Request) -> Option<&'static str> {
        let headers = request.headers();
        if !self.is_open(headers) {
            return Some(
                "only with the key: open the address with `?key=` that `cotter dashboard` has printed when it started\n",
            );
        }
        let may_be_foreign = !request.method().is_safe();
        (may_be_foreign && is_foreign(headers)).then_some("this was asked for by a page of somebody else\n")
    }
}

/// Whether a browser says that another page has sent this. A page of another port of this host is another page.
fn is_foreign(headers: &HeaderMap) -> bool {
    let is_own_site = |site: &HeaderValue| site == "same-origin" || site == "none";
    let own = headers.get(HOST).map(|host| [b"http://", host.as_bytes()].concat());
    let is_own_origin = |origin: &HeaderValue| own.as_deref() == Some(origin.as_bytes());
    !headers.get(SEC_FETCH_SITE).is_none_or(is_own_site) || !headers.get(ORIGIN).is_none_or(is_own_origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_only_itself_and_is_not_shown() {
        let secret = Secret::known("abc");
        assert!(secret.is("abc"));
        assert!(["", "ab", "abd", "abcd", "Abc"].iter().all(|other| !secret.is(other)));
        assert_eq!(format!("{secret:?}"), "Secret", "violation[a-key-is-shown]");
        assert_ne!(Secret::random().told(), Secret::random().told());
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let door = Door::new(Secret::random());
        let own = format!("{}={}", door.cookie, door.session.told());
        let has = |cookies: &str| {
            door.is_open(&[(COOKIE, HeaderValue::from_str(cookies).unwrap())].into_iter().collect())
        };
        assert!(
            has(&own) && has(&format!("a=b; {own}; c=d")) && has(&format!("{}=other; {own}", door.cookie))
        );
        assert!(!has(&door.cookie) && !has(&format!("x{own}")) && !has(&format!("{own}x")));
        assert!(!door.is_open(&HeaderMap::new()));
    }

    #[test]
    fn pages_of_others_are_told_by_their_origin() {
        let says = |more: &[(HeaderName, &'static str)]| {
            let own = [(HOST, "127.0.0.1:8787")];
            let all = own.iter().chain(more);
            is_foreign(&all.map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect())
        };
        for own in [
            &[][..],
            &[(ORIGIN, "http://127.0.0.1:8787")],
            &[(ORIGIN, "http://127.0.0.1:8787"), (SEC_FETCH_SITE, "same-origin")],
        ] {
            assert!(!says(own), "{own:?}");
        }
        for foreign in [
            (ORIGIN, "http://evil.example"),
            (ORIGIN, "null"),
            (ORIGIN, "http://127.0.0.1:8788"),
            (ORIGIN, "https://127.0.0.1:8787"),
            (SEC_FETCH_SITE, "cross-site"),
            (SEC_FETCH_SITE, "same-site"),
        ] {
            assert!(says(std::slice::from_ref(&foreign)), "violation[a-foreign-page-changes] {foreign:?}");
        }
    }
}
