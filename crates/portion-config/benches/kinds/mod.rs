//! The ways to change a configuration file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Replaces the content of the file at a path.
pub(crate) type Change = fn(&Path, &str) -> io::Result<()>;

/// All of them.
pub(crate) const KINDS: &[(&str, Change)] = &[
    ("written in place", |path, text| fs::write(path, text)),
    ("in five writes, 10 ms apart", in_five),
    ("renamed over", renamed),
    ("link flipped", flipped),
    ("deleted, 20 ms, made anew", anew),
    ("half, closed, 30 ms, the rest", in_halves),
    ("half, open, 30 ms, the rest", in_one_go),
    ("no end of line, in place", |path, text| fs::write(path, text.trim_end())),
    ("no end of line, renamed over", |path, text| renamed(path, text.trim_end())),
];

fn in_five(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    for piece in text.as_bytes().chunks(text.len() / 5 + 1) {
        thread::sleep(Duration::from_millis(10));
        file.write_all(piece)?;
    }
    Ok(())
}

fn anew(path: &Path, text: &str) -> io::Result<()> {
    fs::remove_file(path)?;
    thread::sleep(Duration::from_millis(20));
    fs::write(path, text)
}

/// Writes half of the text, which ends within a line, and later the rest.
fn in_halves(path: &Path, text: &str) -> io::Result<()> {
    let half = text.get(..text.len() / 2).unwrap_or_default().trim_end();
    fs::write(path, half)?;
    thread::sleep(Duration::from_millis(30));
    let rest = text.get(half.len()..).unwrap_or_default();
    File::options().append(true).open(path)?.write_all(rest.as_bytes())
}

/// Pauses after a complete line: the text before it is a valid configuration, too.
fn in_one_go(path: &Path, text: &str) -> io::Result<()> {
    let half = text.get(..text.len() / 2).and_then(|half| half.rfind('\n')).map_or(0, |end| end + 1);
    let (half, rest) = text.split_at(half);
    let mut file = File::create(path)?;
    file.write_all(half.as_bytes())?;
    thread::sleep(Duration::from_millis(30));
    file.write_all(rest.as_bytes())
}

fn renamed(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension("tmp");
    fs::write(&beside, text)?;
    fs::rename(beside, path)
}

/// Changes a link to a directory and then removes the old directory, as Kubernetes does.
#[cfg(unix)]
fn flipped(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::symlink;
    let folder = path.parent().unwrap_or(Path::new("."));
    let before = fs::read_link(folder.join("..data")).ok();
    let next = if before.as_deref() == Some(Path::new("..one")) { "..two" } else { "..one" };
    fs::create_dir(folder.join(next))?;
    fs::write(folder.join(next).join("portion.yaml"), text)?;
    symlink(next, folder.join("..data_tmp"))?;
    fs::rename(folder.join("..data_tmp"), folder.join("..data"))?;
    if let Some(before) = before {
        return fs::remove_dir_all(folder.join(before));
    }
    symlink("..data/portion.yaml", folder.join("link"))?;
    fs::rename(folder.join("link"), path)
}

#[cfg(not(unix))]
fn flipped(path: &Path, text: &str) -> io::Result<()> {
    renamed(path, text)
}
