//! The clock of the files, which does not jump when the clock of the system is set.
//!
//! On Linux it is the time since the boot, added to the time of the boot. The file `clock` in the directory has the time of
//! the boot as the first process knew it, so that all processes agree. Elsewhere it is the clock of the system.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::WallClock;

/// Returns the clock of the store in this directory.
#[cfg(target_os = "linux")]
pub(super) fn clock(root: &Path) -> WallClock {
    match linux::boot_time(root) {
        Some(boot) => Arc::new(move || boot + linux::uptime()),
        None => Arc::new(SystemTime::now),
    }
}

/// Returns the clock of the store in this directory.
#[cfg(not(target_os = "linux"))]
pub(super) fn clock(_: &Path) -> WallClock {
    Arc::new(SystemTime::now)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::path::Path;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use rustix::time::{ClockId, clock_gettime};

    use super::super::directory::{read_file, write_file};

    const FILE_NAME: &str = "clock";

    /// Returns the time since the boot, suspended time included.
    pub(super) fn uptime() -> Duration {
        let time = clock_gettime(ClockId::Boottime);
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
    }

    /// Returns the time of this boot, as the first process that asked for it knew it.
    pub(super) fn boot_time(root: &Path) -> Option<SystemTime> {
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let path = root.join(FILE_NAME);
        read(&path, &boot_id).or_else(|| {
            let boot = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.checked_sub(uptime())?;
            write_file(root, &path, format!("{}\n{boot_id}", boot.as_nanos()).as_bytes()).ok()?;
            // Another process may have written it meanwhile.
            read(&path, &boot_id)
        })
    }

    /// Reads the time of a boot; `None` if the file is of another boot.
    pub(super) fn read(path: &Path, boot_id: &str) -> Option<SystemTime> {
        let text = String::from_utf8(read_file(path).ok()?).ok()?;
        let (boot, of) = text.split_once('\n')?;
        let nanos = boot.parse().ok().filter(|_| of == boot_id)?;
        UNIX_EPOCH.checked_add(Duration::from_nanos(nanos))
    }

    #[cfg(test)]
    mod tests {
        use std::fs;
        use std::time::{Duration, SystemTime};

        use super::{FILE_NAME, boot_time, read, uptime};

        #[test]
        fn processes_of_a_boot_agree_on_its_time() {
            let root = tempfile::tempdir().expect("a directory");
            let first = boot_time(root.path()).expect("it is written");
            assert_eq!(boot_time(root.path()), Some(first));
            let apart = |one: SystemTime, other: SystemTime| {
                one.duration_since(other).or_else(|_| other.duration_since(one)).expect("a duration")
            };
            assert!(uptime() > Duration::ZERO);
            assert!(apart(first + uptime(), SystemTime::now()) < Duration::from_mins(1));
            // The clock of the system is set an hour ahead.
            let path = root.path().join(FILE_NAME);
            let text = fs::read_to_string(&path).expect("a file");
            let (nanos, id) = text.split_once('\n').expect("two lines");
            let earlier = nanos.parse::<u64>().expect("a number") - 3_600_000_000_000;
            fs::write(&path, format!("{earlier}\n{id}")).expect("it can be written");
            assert_eq!(apart(boot_time(root.path()).expect("it is there"), first), Duration::from_hours(1));
        }

        #[test]
        fn the_time_of_another_boot_is_replaced() {
            let root = tempfile::tempdir().expect("a directory");
            let path = root.path().join(FILE_NAME);
            for text in ["5\nanother boot\n", "", "x\n", "99999999999999999999999\nanother boot\n"] {
                fs::write(&path, text).expect("it can be written");
                assert_eq!(read(&path, "this boot\n"), None, "{text}");
                let boot = boot_time(root.path()).expect("it is written");
                assert!(boot > SystemTime::UNIX_EPOCH + Duration::from_hours(24), "{boot:?}");
            }
        }
    }
}
