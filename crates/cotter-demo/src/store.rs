//! The store that the command line has chosen.

use async_trait::async_trait;
use cotter::{Builder, Client};
use cotter_console::{Console, Failure};

/// The chosen store, as the command line knows it.
#[async_trait(?Send)]
pub trait Store {
    /// The URL with its password: for direct connections, and for the environment of further processes of this program.
    fn secret_url(&self) -> &str;

    /// The contents of the password file, if there is one.
    fn password(&self) -> Result<Option<String>, Failure>;

    /// Connects with the settings of the builder. What a user should know about the store is printed.
    async fn connect(&self, builder: Builder, console: &Console) -> Result<Client, Failure>;
}
