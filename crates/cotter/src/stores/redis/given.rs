//! A client of the `redis` crate that opens its connections itself, with the limits that ours have. On Linux only: elsewhere they
//! are those of the system.

use crate::stores::shared::net::USER_TIMEOUT;
use redis::Client;
use redis::io::tcp::socket2::TcpKeepalive;

/// The same client, whose connections end when the server has vanished. What its owner has set stays as it is.
pub(super) fn guarded(client: Client) -> Client {
    let info = client.get_connection_info();
    let mut settings = info.tcp_settings().clone().set_nodelay(true);
    if settings.keepalive().is_none() {
        let keepalive = TcpKeepalive::new().with_time(USER_TIMEOUT / 2).with_interval(USER_TIMEOUT / 5);
        settings = settings.set_keepalive(keepalive);
    }
    if settings.user_timeout().is_none() {
        settings = settings.set_user_timeout(USER_TIMEOUT);
    }
    // It is the same address, which was good enough for the client.
    Client::open(info.clone().set_tcp_settings(settings)).unwrap_or(client)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redis::io::tcp::TcpSettings;
    use redis::{ConnectionAddr, IntoConnectionInfo};
    use std::time::Duration;

    fn client(settings: TcpSettings) -> Client {
        let (host, port) = ("127.0.0.1".to_owned(), 1);
        let address = ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None };
        let info = address.into_connection_info().unwrap();
        Client::open(info.set_tcp_settings(settings)).unwrap()
    }

    #[test]
    fn a_client_with_tls_notices_that_its_server_has_vanished() {
        let guarded = guarded(client(TcpSettings::default()));
        let settings = guarded.get_connection_info().tcp_settings();
        assert!(settings.keepalive().is_some() && settings.nodelay());
        assert_eq!(settings.user_timeout(), Some(Duration::from_secs(10)));
    }

    #[test]
    fn what_the_application_has_set_stays() {
        let (theirs, limit) =
            (TcpKeepalive::new().with_time(Duration::from_secs(77)), Duration::from_secs(99));
        let settings = TcpSettings::default().set_keepalive(theirs.clone()).set_user_timeout(limit);
        let guarded = guarded(client(settings));
        let settings = guarded.get_connection_info().tcp_settings();
        assert_eq!(settings.user_timeout(), Some(limit));
        assert_eq!(format!("{:?}", settings.keepalive()), format!("{:?}", Some(&theirs)));
    }
}
