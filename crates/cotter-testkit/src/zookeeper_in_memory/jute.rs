//! Writing and reading the records of ZooKeeper's protocol.

/// A message that is being written.
#[derive(Debug)]
pub struct Writer(Vec<u8>);

const LENGTH: usize = 4;

impl Default for Writer {
    /// With place for its length.
    fn default() -> Self {
        Self(vec![0; LENGTH])
    }
}

#[allow(missing_docs, reason = "as in the protocol")]
impl Writer {
    #[must_use]
    pub fn int(mut self, number: i32) -> Self {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    #[must_use]
    pub fn long(mut self, number: i64) -> Self {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    #[must_use]
    pub fn flag(mut self, is_set: bool) -> Self {
        self.0.push(u8::from(is_set));
        self
    }

    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let mut this = self.int(i32::try_from(bytes.len()).expect("a short message"));
        this.0.extend_from_slice(bytes);
        this
    }

    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    /// Followed by what is in another one.
    #[must_use]
    pub fn then(mut self, other: &Self) -> Self {
        self.0.extend_from_slice(&other.0[LENGTH..]);
        self
    }

    /// The whole message, with its length.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len() - LENGTH).expect("a short message");
        self.0[..LENGTH].copy_from_slice(&length.to_be_bytes());
        self.0
    }
}

/// A message that is being read, without its length. Every method returns `None` where it ends too early.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a>(pub &'a [u8]);

#[allow(missing_docs, reason = "as in the protocol")]
impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub fn int(&mut self) -> Option<i32> {
        self.take().map(i32::from_be_bytes)
    }

    pub fn long(&mut self) -> Option<i64> {
        self.take().map(i64::from_be_bytes)
    }

    pub fn flag(&mut self) -> Option<bool> {
        self.take::<1>().map(|[byte]| byte != 0)
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.int()?).unwrap_or(0);
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }
}

/// Takes the next whole message out of what was received, without its length.
pub(super) fn next_message(received: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = u32::from_be_bytes(*received.first_chunk::<LENGTH>()?) as usize;
    if received.len() < LENGTH + length {
        return None;
    }
    let rest = received.split_off(LENGTH + length);
    let message = std::mem::replace(received, rest);
    Some(message[LENGTH..].to_vec())
}
