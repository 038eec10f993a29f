//! This process: settings of glibc that return memory to the system, and the watchdog that ends the servers if it is killed.
//!
//! The watchdog is a second process of the same program.
//!
//! # Memory
//!
//! By default glibc raises the size from which a block is mapped by itself, up to 32 MiB, each time such a block is
//! freed. Payloads of megabytes then lie in heaps among small blocks, and one small block keeps all memory below it. A
//! server under mixed traffic grew from 142 to 189 MiB in five minutes and kept that after its snapshots had expired.
//! With a fixed size it falls to about half when they expire: after nine minutes of traffic, 60 of the 66 MiB that glibc
//! had from the system were in use. Each heap keeps some free memory, so there are few heaps.
//!
//! glibc takes these settings from `mallopt`, which needs `unsafe`, or from the environment of a process that starts. So
//! a command that runs for long replaces itself, before it does anything, by the same program in such an environment.
//! Another allocator was no better way: mimalloc 2 and 3 kept more. jemalloc with background purging took 8 MiB more under
//! the same traffic and 7 MiB less after it, grew as fast, and takes 100 seconds of processor time to build.

use std::path::Path;
use std::process::{Command, ExitCode};

use portion_mcp::upstream::process_group;
use portion_mcp::upstream::stdio::Program;

/// Largest number of heaps; by default each thread has one.
const HEAPS: (&str, &str) = ("MALLOC_ARENA_MAX", "2");
/// The size of blocks that are mapped by themselves: 64 KiB and a page. With the page, a process can tell its own
/// setting from one of the user.
const MAPPED_BYTES: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "69632");

/// Variables by which a user configures memory. If one is set, nothing is changed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const CHOICES: &[&str] =
    &[HEAPS.0, MAPPED_BYTES.0, "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES", "LD_PRELOAD"];

/// Replaces this process by the same program with these settings. Returns where that is done already, cannot be done, or
/// is not wanted. Call it before anything is started.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn apply_settings() {
    use std::os::unix::process::CommandExt;

    if CHOICES.iter().any(|name| std::env::var_os(name).is_some()) {
        return;
    }
    let Ok(myself) = std::env::current_exe() else { return };
    let mut line = std::env::args_os();
    let mut command = Command::new(myself);
    if let Some(name) = line.next() {
        command.arg0(name);
    }
    // It returns only on failure. Then this process continues, and may keep more memory.
    let _failed = command.args(line).envs([HEAPS, MAPPED_BYTES]).exec();
}

/// Does nothing: other allocators have no such default.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn apply_settings() {}

/// Returns a command with the environment of the user, for a server.
pub(crate) fn with_user_environment(program: Program) -> Program {
    let is_set = |(name, value): (&str, &str)| std::env::var_os(name).is_some_and(|set| set == value);
    if is_set(HEAPS) && is_set(MAPPED_BYTES) {
        program.without_variable(HEAPS.0).without_variable(MAPPED_BYTES.0)
    } else {
        program
    }
}

/// Hidden command of the watchdog.
const WATCHDOG_COMMAND: &str = "watch-groups";
/// Path of this program, which stays valid if its file is replaced.
const SELF_EXE: &str = "/proc/self/exe";

/// Arranges that a watchdog is started together with the first server. Windows needs none: it ends the jobs of the servers.
pub(crate) fn register_watchdog() {
    if cfg!(windows) {
        return;
    }
    let myself = if Path::new(SELF_EXE).exists() { Ok(SELF_EXE.into()) } else { std::env::current_exe() };
    match myself {
        Ok(myself) => {
            let mut command = Command::new(myself);
            command.arg(WATCHDOG_COMMAND);
            process_group::set_watchdog_command(command);
        }
        Err(error) => {
            tracing::warn!(%error, "the watchdog did not start: servers keep running if this process is killed");
        }
    }
}

/// Runs the watchdog until the process that started it has ended.
pub(crate) fn run_watchdog() -> ExitCode {
    process_group::run_watchdog(std::io::stdin().lock());
    ExitCode::SUCCESS
}
