//! One holder process; the harness starts, pauses and kills it.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    cotter_testkit::holder::main()
}
