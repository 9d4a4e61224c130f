//! The built-in server for files: every tool, every refusal, and nothing outside its directory.

mod edits;
mod escapes;
mod files;
mod followup;
mod race;
mod schemas;
mod workbench;
