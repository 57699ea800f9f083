//! The settings for a login.

use super::*;
use crate::stores::mysql::Store;
use mysql_async::SslOpts;

fn login(store: &Store) -> Opts {
    let servers = &store.0.servers;
    let visit = Visit { has_tables: true, password: Some("token".into()) };
    servers.login(&servers.params.servers[0], Vec::new(), &visit)
}

fn asking(store: Store) -> Store {
    store.with_password_from(async || Ok::<_, Error>("token".to_owned()))
}

/// A token is read by the server, which has to be the right one.
#[test]
fn only_who_was_verified_gets_a_password_as_it_is() {
    let of = |url: &str| Store::from_url(url).unwrap();
    let (verified, plain) = ("mysql://u@db.example/d", "mysql://u@db.example/d?sslmode=disable");
    assert!(login(&asking(of(verified))).enable_cleartext_plugin());
    assert!(!login(&asking(of(plain))).enable_cleartext_plugin());
    assert!(!login(&of(&verified.replace("u@", "u:p@"))).enable_cleartext_plugin());
    for careless in [
        SslOpts::default().with_danger_accept_invalid_certs(true),
        SslOpts::default().with_danger_skip_domain_validation(true),
    ] {
        let opts = OptsBuilder::default().db_name(Some("d")).ssl_opts(careless);
        assert!(!login(&asking(Store::from_opts(opts).unwrap())).enable_cleartext_plugin());
    }
}

#[test]
fn the_name_of_a_client_is_that_of_its_sessions() {
    let store = Store::from_url("mysql://u@localhost/d").unwrap().with_client_name("orders").unwrap();
    let attributes = login(&store).connect_attributes().cloned().expect("there are some");
    assert_eq!(attributes["program_name"], "orders");
    store.with_client_name("two words").unwrap_err();
}
