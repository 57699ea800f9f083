//! Writing and reading the records of ZooKeeper's protocol.
//!
//! Numbers are big-endian, texts and bytes have their length in front, and each message has that of the whole.

/// A message that is being written.
#[derive(Debug)]
pub(super) struct Writer(Vec<u8>);

/// The place of the length of a message.
const LENGTH: usize = 4;

impl Writer {
    pub(super) fn new() -> Self {
        Self(vec![0; LENGTH])
    }

    pub(super) fn int(&mut self, number: i32) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    pub(super) fn long(&mut self, number: i64) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    pub(super) fn flag(&mut self, is_set: bool) {
        self.0.push(u8::from(is_set));
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.int(i32::try_from(bytes.len()).unwrap_or(i32::MAX));
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// The whole message, with its length.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len() - LENGTH).unwrap_or(u32::MAX);
        self.0[..LENGTH].copy_from_slice(&length.to_be_bytes());
        self.0
    }
}

/// A message that is being read, without its length. Every method returns `None` where it ends too early.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(super) fn int(&mut self) -> Option<i32> {
        self.take().map(i32::from_be_bytes)
    }

    pub(super) fn long(&mut self) -> Option<i64> {
        self.take().map(i64::from_be_bytes)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        self.take::<1>().map(|[byte]| byte != 0)
    }

    /// Bytes that are missing, which the protocol tells apart from none, are none.
    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.int()?).unwrap_or(0);
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    pub(super) fn texts(&mut self) -> Option<Vec<String>> {
        let many = usize::try_from(self.int()?).unwrap_or(0);
        // A number that is too large must not allocate: each of them takes four bytes at least.
        if many > self.0.len() / 4 {
            return None;
        }
        (0..many).map(|_| self.text()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::new();
        writer.int(-7);
        writer.long(1 << 40);
        writer.flag(true);
        writer.text("größer");
        writer.bytes(&[]);
        let message = writer.finish();
        let mut reader = Reader(&message);
        assert_eq!(reader.int().map(|n| n as usize), Some(message.len() - LENGTH));
        assert_eq!((reader.int(), reader.long(), reader.flag()), (Some(-7), Some(1 << 40), Some(true)));
        assert_eq!((reader.text().as_deref(), reader.bytes()), (Some("größer"), Some(&[][..])));
        assert_eq!(reader.int(), None);
    }

    #[test]
    fn lengths_that_cannot_be_are_no_message() {
        let too_long = 5_i32.to_be_bytes();
        assert_eq!(Reader(&too_long).bytes(), None);
        assert_eq!(Reader(&i32::MAX.to_be_bytes()).texts(), None);
        assert_eq!(Reader(&(-1_i32).to_be_bytes()).bytes(), Some(&[][..]));
    }
}
