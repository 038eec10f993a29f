//! Which places decide what file a path means: every symbolic link on the way, wherever it stands, and the end.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// As many links as Linux follows (`path_resolution(7)`); a ring of them ends here.
const LINKS: usize = 40;

/// The way of a path to its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Route {
    /// Places that decide: links, and as the last one the file, or what is missing on the way to it. No link is left in
    /// the directories above each.
    pub(super) places: Vec<PathBuf>,
}

impl Route {
    /// Follows an absolute path.
    pub(super) fn of(path: &Path) -> Self {
        let mut ahead: VecDeque<Step> = steps(path).collect();
        let (mut places, mut real, mut links) = (Vec::new(), PathBuf::new(), 0);
        while let Some(step) = ahead.pop_front() {
            let name = match step {
                Step::Root(root) => {
                    real = root;
                    continue;
                }
                Step::Up => {
                    real.pop();
                    continue;
                }
                Step::Down(name) => name,
            };
            real.push(name);
            let kind = fs::symlink_metadata(&real).map(|of| of.file_type());
            let target = match &kind {
                Ok(kind) if kind.is_symlink() && links < LINKS => fs::read_link(&real).ok(),
                _ => None,
            };
            if let Some(target) = target {
                links += 1;
                places.push(real.clone());
                real.pop();
                for step in steps(&target).collect::<Vec<_>>().into_iter().rev() {
                    ahead.push_front(step);
                }
            } else if !kind.is_ok_and(|kind| kind.is_dir()) {
                break;
            }
        }
        places.push(real);
        Self { places }
    }

    /// What has to be watched to see a change of any place. There is none above a missing place that is missing too.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<_> =
            self.places.iter().filter_map(|place| place.parent()).map(Path::to_owned).collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// The file, or what is missing on the way to it.
    pub(super) fn end(&self) -> Option<&Path> {
        self.places.last().map(PathBuf::as_path)
    }
}

enum Step {
    Root(PathBuf),
    Up,
    Down(OsString),
}

fn steps(path: &Path) -> impl Iterator<Item = Step> + '_ {
    let root = path.has_root().then(|| Step::Root(path.ancestors().last().unwrap_or(path).to_owned()));
    root.into_iter().chain(path.components().filter_map(|component| match component {
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    }))
}
