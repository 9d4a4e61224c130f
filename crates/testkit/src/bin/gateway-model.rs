//! The model server's command.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    gateway_testkit::models::run(gateway_testkit::models::ModelOptions::parse())
}
