//! Resolves a path and lists the places that determine its file: every symbolic link on the way, and the
//! end.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Maximum symbolic links, as in Linux (`path_resolution(7)`); a cycle of links ends here.
const MAX_SYMLINKS: usize = 40;

/// The places on the way of a path to its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ResolvedPath {
    /// Symbolic links, and as the last element the file, or the first missing place on the way to it. The
    /// parent directories of each are free of links.
    pub(super) watch_points: Vec<PathBuf>,
}

impl ResolvedPath {
    /// Resolves an absolute path.
    pub(super) fn resolve(path: &Path) -> Self {
        let mut ahead: VecDeque<PathStep> = path_steps(path).collect();
        let (mut places, mut real, mut links) = (Vec::new(), PathBuf::new(), 0);
        while let Some(step) = ahead.pop_front() {
            let name = match step {
                PathStep::Root(root) => {
                    real = root;
                    continue;
                }
                PathStep::Parent => {
                    real.pop();
                    continue;
                }
                PathStep::Child(name) => name,
            };
            real.push(name);
            let kind = fs::symlink_metadata(&real).map(|of| of.file_type());
            let target = match &kind {
                Ok(kind) if kind.is_symlink() && links < MAX_SYMLINKS => fs::read_link(&real).ok(),
                _ => None,
            };
            if let Some(target) = target {
                links += 1;
                places.push(real.clone());
                real.pop();
                for step in path_steps(&target).collect::<Vec<_>>().into_iter().rev() {
                    ahead.push_front(step);
                }
            } else if !kind.is_ok_and(|kind| kind.is_dir()) {
                break;
            }
        }
        places.push(real);
        Self { watch_points: places }
    }

    /// Returns the directories to watch for a change of any place. All of them exist.
    pub(super) fn watch_dirs(&self) -> Vec<PathBuf> {
        let mut folders: Vec<_> =
            self.watch_points.iter().filter_map(|place| place.parent()).map(Path::to_owned).collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// Returns the file, or the first missing place on the way to it.
    pub(super) fn target(&self) -> Option<&Path> {
        self.watch_points.last().map(PathBuf::as_path)
    }
}

enum PathStep {
    Root(PathBuf),
    Parent,
    Child(OsString),
}

fn path_steps(path: &Path) -> impl Iterator<Item = PathStep> + '_ {
    let root = path.has_root().then(|| PathStep::Root(path.ancestors().last().unwrap_or(path).to_owned()));
    root.into_iter().chain(path.components().filter_map(|component| match component {
        Component::ParentDir => Some(PathStep::Parent),
        Component::Normal(name) => Some(PathStep::Child(name.to_owned())),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    }))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Creates links (name, target) and files (name, no target), and asserts the places on the way of a
    /// path.
    fn check(there: &[(&str, Option<&str>)], path: &str, expect: &[&str]) {
        let folder = tempfile::tempdir().expect("a directory");
        let root = folder.path().canonicalize().expect("it is there");
        for (name, target) in there {
            let at = root.join(name);
            fs::create_dir_all(at.parent().expect("a directory")).expect("it can be made");
            match target {
                Some(target) => symlink(target, at).expect("a link"),
                None => fs::write(at, "").expect("a file"),
            }
        }
        let expect: Vec<_> = expect.iter().map(|place| root.join(place)).collect();
        assert_eq!(ResolvedPath::resolve(&root.join(path)).watch_points, expect, "{path} among {there:?}");
    }

    #[test]
    fn every_link_on_the_way_is_a_watch_point() {
        check(&[("etc/p.yaml", None)], "etc/p.yaml", &["etc/p.yaml"]);
        let mounted = [("d1/p.yaml", None), ("..data", Some("d1")), ("p.yaml", Some("..data/p.yaml"))];
        check(&mounted, "p.yaml", &["p.yaml", "..data", "d1/p.yaml"]);
        let released = [("v1/conf/p.yaml", None), ("now/current", Some("../v1"))];
        check(&released, "now/current/conf/p.yaml", &["now/current", "v1/conf/p.yaml"]);
        check(
            &released,
            "now/current/../now/current/conf/p.yaml",
            &["now/current", "now/current", "v1/conf/p.yaml"],
        );
    }

    #[test]
    fn the_first_missing_place_is_a_watch_point() {
        check(&[("etc/other", None)], "etc/not/yet/p.yaml", &["etc/not"]);
        check(&[("p.yaml", Some("away/p.yaml"))], "p.yaml", &["p.yaml", "away"]);
        check(&[("file", None)], "file/p.yaml", &["file"]);
    }

    #[test]
    fn a_cycle_of_links_ends() {
        let ring = [("a", Some("b")), ("b", Some("a"))];
        let expect: Vec<_> = ["a", "b"].into_iter().cycle().take(MAX_SYMLINKS + 1).collect();
        check(&ring, "a", &expect);
    }
}
