//! The names of locks.

use crate::{Error, ErrorKind, Result};
use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

/// The name of a lock: UTF-8, 1 to 512 bytes, no control characters.
///
/// Names are compared byte by byte: `job`, `Job` and `job ` are three locks on every store. Names that begin with `cotter:doctor`
/// are reserved for [`Admin::diagnose`](crate::Admin::diagnose).
///
/// ```
/// use cotter::Name;
/// assert!("iPhone 7".parse::<Name>().is_ok());
/// assert!("".parse::<Name>().is_err());
/// assert!("two\nlines".parse::<Name>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
pub struct Name(Arc<str>);

impl Name {
    /// The maximum length of a name, in bytes.
    pub const MAX_BYTES: usize = 512;

    /// Creates a name after checking it. Makes no request to a store.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`], which says what is wrong with the name.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        let name = name.as_ref();
        if let Some(why) = fault(name) {
            return Err(Error::new(ErrorKind::InvalidName, why));
        }
        Ok(Self(name.into()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn fault(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("a lock needs a name of at least one byte".into());
    }
    if name.len() > Name::MAX_BYTES {
        return Some(format!("the name has {} bytes, {} are allowed", name.len(), Name::MAX_BYTES));
    }
    let (at, c) = name.char_indices().find(|(_, c)| c.is_control())?;
    Some(format!("the name has the control character {:?} at byte {at}; leave it out", c))
}

impl Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        Self::new(s)
    }
}

impl TryFrom<&str> for Name {
    type Error = Error;
    fn try_from(s: &str) -> Result<Self> {
        Self::new(s)
    }
}

impl TryFrom<String> for Name {
    type Error = Error;
    fn try_from(s: String) -> Result<Self> {
        Self::new(s)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.as_str().to_owned()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}
