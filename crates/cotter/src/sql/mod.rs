//! What the stores in databases share.
//!
//! | file | concept |
//! |---|---|
//! | `identifier` | names of schemas and tables |

mod identifier;

pub(crate) use identifier::identifier;
