//! `portion top`: live figures in a terminal.
//!
//! `state` is the state of the user interface, `query` reads the file, `draw` renders both as a frame. Only this file uses
//! the terminal and the clock.
mod draw;
mod state;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use portion_telemetry::read::Reader;
use ratatui::DefaultTerminal;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::execute;

use super::{CommandResult, stats};
use crate::cli::options::FILE_HELP;
use state::{Action, TopData, ViewState, query_data};

/// Interval between reads of the file.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

const AFTER_HELP: &str = "\
Keys: arrows select a row and the sort column, 1-9 sort by a column (again: reverse order), + and - change the time range,
/ filters by name, Enter shows the last requests of an endpoint, p pauses, q quits.";

/// Options of `portion top`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Initial time range: 5m, 1h, 24h
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = humantime::parse_duration)]
    since: Duration,
    /// Telemetry file (default: from the configuration)
    #[arg(long, value_name = "FILE")]
    telemetry: Option<PathBuf>,
    #[arg(long, value_name = "FILE", help = FILE_HELP)]
    config: Option<PathBuf>,
}

/// Runs until the user or a signal ends it.
pub(crate) fn run(options: &Options) -> CommandResult {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err("portion top needs a terminal: use portion stats".into());
    }
    let file = stats::telemetry_file(options.telemetry.as_deref(), options.config.as_deref())?;
    // Errors of the file are shown in the frame.
    Reader::open(&file)?;
    let _restored = TerminalGuard::install()?;
    run_loop(&mut ratatui::try_init()?, &file, ViewState::new(options.since))?;
    Ok(ExitCode::SUCCESS)
}

fn run_loop(terminal: &mut DefaultTerminal, file: &Path, mut state: ViewState) -> io::Result<()> {
    let (mut found, mut due, mut wanted) = (TopData::default(), Instant::now(), true);
    loop {
        if wanted || !state.is_paused && Instant::now() >= due {
            found = load_data(file, &state);
            (due, wanted) = (Instant::now() + REFRESH_INTERVAL, false);
        }
        state.clamp_row(&found);
        terminal.draw(|frame| draw::draw(frame, &state, &found))?;
        let wait =
            if state.is_paused { REFRESH_INTERVAL } else { due.saturating_duration_since(Instant::now()) };
        if !event::poll(wait)? {
            continue;
        }
        // Other events are mostly a new size: draw again.
        let Event::Key(key) = event::read()? else { continue };
        match if key.kind == KeyEventKind::Release { Action::Redraw } else { state.handle_key(key, &found) } {
            Action::Redraw => {}
            Action::Refresh => wanted = true,
            Action::Quit => return Ok(()),
        }
    }
}

/// Reads the file. It is opened each time, because it may have been replaced.
fn load_data(file: &Path, state: &ViewState) -> TopData {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = since.as_micros() as u64;
    let found = Reader::open(file)
        .and_then(|reader| query_data(&reader, state.range, state.detail_endpoint.as_ref(), now));
    found.unwrap_or_else(|error| TopData {
        queried_at: now,
        error: Some(error.to_string()),
        ..TopData::default()
    })
}

/// Restores the terminal when it is dropped; `ratatui` does so on panics.
struct TerminalGuard;

impl TerminalGuard {
    /// Restores it also if a signal ends the process.
    fn install() -> io::Result<Self> {
        #[cfg(unix)]
        {
            let runtime = tokio::runtime::Builder::new_current_thread().build()?;
            let mut signals = portion_mcp::front::ShutdownSignals::listen()?;
            std::thread::spawn(move || {
                runtime.block_on(signals.next());
                restore_terminal();
                std::process::exit(1);
            });
        }
        Ok(Self)
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// Shows the cursor again: `ratatui` does so only when its terminal is dropped.
fn restore_terminal() {
    ratatui::restore();
    // An error on a closed terminal is ignored.
    let _ = execute!(io::stdout(), Show);
}
