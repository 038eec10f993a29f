//! The clock of the store, which does not jump when the clock of the system is set.
//!
//! On Linux it is the time since the boot, added to the time of the boot as the first process knew it, so that all processes
//! agree. Elsewhere it is the clock of the system.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension as _};

use super::StoreClock;

/// Returns the clock of the processes that share a database.
pub(super) fn of_boot(connection: &Connection) -> rusqlite::Result<StoreClock> {
    let system = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let Some(boot_id) = boot_id() else { return Ok(Arc::new(system)) };
    let known = "SELECT millis FROM boot WHERE id = ?";
    let known: Option<i64> = connection.query_row(known, [&boot_id], |row| row.get(0)).optional()?;
    let millis = if let Some(millis) = known {
        millis
    } else {
        let millis = i64::try_from(system().saturating_sub(uptime()).as_millis()).unwrap_or_default();
        connection.execute("DELETE FROM boot", [])?;
        connection.execute("INSERT INTO boot (id, millis) VALUES (?, ?)", (&boot_id, millis))?;
        millis
    };
    let boot = Duration::from_millis(millis.unsigned_abs());
    Ok(Arc::new(move || boot + uptime()))
}

fn boot_id() -> Option<String> {
    cfg!(target_os = "linux").then(|| std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok())?
}

/// Returns the time since the boot, suspended time included.
#[cfg(target_os = "linux")]
fn uptime() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

#[cfg(not(target_os = "linux"))]
fn uptime() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rusqlite::Connection;

    use super::of_boot;

    #[test]
    #[cfg(target_os = "linux")]
    fn processes_of_a_boot_agree_on_its_time() {
        let connection = Connection::open("").expect("a database");
        connection.execute_batch("CREATE TABLE boot (id TEXT, millis INTEGER)").expect("a table");
        connection.execute("INSERT INTO boot VALUES ('another boot', 5)", []).expect("a row");
        let time = || of_boot(&connection).expect("a clock")();
        let hour = Duration::from_hours(1);
        assert!(time() > 24 * hour, "the time of another boot is replaced");
        let first = time();
        // The clock of the system is set an hour ahead.
        connection.execute("UPDATE boot SET millis = millis - 3600000", []).expect("a row");
        let later = time() + hour;
        assert!(later >= first && later < first + Duration::from_mins(1), "{first:?} {later:?}");
    }
}
