//! As much of HTTP as it takes to ask a program.

use std::io::{Read, Write};
use std::net::TcpStream;

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) text: String,
}

/// Sends a request, as in `POST /orders/7/pay`. What is returned begins with the headers, and is in small letters.
pub(super) fn ask(address: &str, request: &str) -> Answer {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    Answer { status: status.unwrap_or_else(|| panic!("no status: {text}")), text: text.to_lowercase() }
}
