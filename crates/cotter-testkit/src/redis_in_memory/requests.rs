//! The requests in what was received.

/// Bytes that have come so far.
#[derive(Debug, Default)]
pub(super) struct Requests {
    bytes: Vec<u8>,
}

/// A command and its arguments.
pub(super) type Request = Vec<Vec<u8>>;

impl Requests {
    pub(super) fn received(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// The next request, if all of it has come. An error is the end of the connection.
    pub(super) fn next(&mut self) -> Result<Option<Request>, String> {
        let (mut at, mut request) = (0, Vec::new());
        let Some(items) = self.length(&mut at, b'*')? else { return Ok(None) };
        for _ in 0..items {
            let Some(length) = self.length(&mut at, b'$')? else { return Ok(None) };
            let Some(value) = self.bytes.get(at..at + length) else { return Ok(None) };
            request.push(value.to_vec());
            at += length + 2;
        }
        if self.bytes.len() < at {
            return Ok(None);
        }
        self.bytes.drain(..at);
        Ok(Some(request))
    }

    /// The number in a line that begins with this byte.
    fn length(&self, at: &mut usize, mark: u8) -> Result<Option<usize>, String> {
        let rest = &self.bytes[(*at).min(self.bytes.len())..];
        let Some(end) = rest.iter().position(|byte| *byte == b'\r') else { return Ok(None) };
        let line = String::from_utf8_lossy(&rest[..end]).into_owned();
        let number = line.strip_prefix(char::from(mark)).and_then(|digits| digits.parse().ok());
        *at += end + 2;
        number.map(Some).ok_or_else(|| format!("ERR Protocol error: expected '{}'", char::from(mark)))
    }
}
