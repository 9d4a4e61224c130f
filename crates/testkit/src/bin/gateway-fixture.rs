//! The fixture server's command.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    gateway_testkit::run(gateway_testkit::Options::parse())
}
