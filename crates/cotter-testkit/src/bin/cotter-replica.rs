//! One replica of a scheduler; the harness starts, pauses and kills it.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    cotter_testkit::replica::main()
}
