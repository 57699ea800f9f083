//! The life of a grant: renewal, loss, release.
//!
//! | file | concept |
//! |---|---|
//! | `hold`, `guards` | one grant as this process sees it; the guards that live on it, and their signals |
//! | `renew` | the agenda: renewal and loss, in order of deadline |
//! | `give_back` | a guard is given back, and the lock passes to a task of this process or is released |
//! | `loss` | the loss of a hold |
//! | `release` | telling the store |
//! | `in_line` | a hold in the line of its name |
//! | `freshen` | grants that arrive with too little time left |
//! | `downgrade` | from writer to reader |
//! | `ticket` | tickets: taking over their locks, extending and releasing them |
//! | `telling` | what observers are told of a hold |
//! | `undo` | unknown outcomes, undone in the background until they are settled |

pub(crate) mod downgrade;
pub(crate) mod freshen;
pub(crate) mod give_back;
mod guards;
pub(crate) mod hold;
mod in_line;
mod loss;
pub(crate) mod release;
pub(crate) mod renew;
mod telling;
pub(crate) mod ticket;
pub(crate) mod undo;
