//! `cotter verify`, which gets the store that the command line has chosen.

use crate::store::Chosen;
use cotter::Client;
use cotter_console::{Console, Exit, Failure};
use cotter_verify::{Store, Verify};

/// Runs it. Clients in other languages connect by themselves, to whatever they like.
pub(crate) async fn run(args: &Verify, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let client = match args.begin()? {
        true => Some(store.connect(Client::builder(), console).await?),
        false => None,
    };
    let (secret_url, public_url) = (store.secret_url().to_owned(), store.public_url());
    args.run(&Store { client, secret_url, public_url, environment: store.environment() }, console).await
}
