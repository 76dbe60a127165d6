//! Projects below roots, their names and keys.

use std::io;
use std::path::Path;

use worktree::{Layout, ProjectSearch, Repository, discover, key_of, shared_path};

use super::stage::Stage;

/// Returns the key of the project of a directory.
fn project_key(directory: &Path) -> io::Result<String> {
    let shared = Layout::find(directory).map(|layout| layout.shared_path());
    shared.map_or_else(|| directory.canonicalize(), Ok).map(|path| key_of(&path))
}

#[test]
fn f5_projects_are_found_with_their_worktrees_and_shortest_names() {
    let stage = Stage::new();
    let task = stage.task("t");
    stage.init(&stage.path("deep/er/app"));
    stage.init(&stage.path("node_modules/hidden"));
    stage.init(&stage.path("a/b/c/d/e/too-deep"));
    stage.plain(&stage.app(), &["clone", "-q", "--bare", ".", stage.path("bare.git").to_str().unwrap()]);
    std::os::unix::fs::symlink(stage.path("a"), stage.path("linked")).unwrap();
    let search = ProjectSearch { depth: 3, ..ProjectSearch::below(vec![stage.path("")]) };
    let found = discover(&search);
    let end = stage.path("");
    let parent = end.file_name().unwrap().to_str().unwrap();
    let names: Vec<String> = found.iter().map(|project| project.name.clone()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.contains(&format!("{parent}/app")) && names.contains(&"er/app".to_owned()), "{names:?}");
    let app = found.iter().find(|project| project.main == Some(stage.app())).unwrap();
    assert_eq!(app.worktrees, [task]);
    let bare = found.iter().find(|project| project.main.is_none()).unwrap();
    assert_eq!(bare.common_dir, stage.path("bare.git"));
}

#[test]
fn f5_all_worktrees_of_a_repository_have_one_key_and_other_repositories_another() {
    let stage = Stage::new();
    let task = stage.task("t");
    stage.init(&stage.path("other"));
    let key = project_key(&stage.app()).unwrap();
    assert_eq!(key.len(), 16);
    assert_eq!(project_key(&task.join("src")).unwrap(), key);
    assert_eq!(stage.repository().key(), key);
    assert_ne!(project_key(&stage.path("other")).unwrap(), key);
    std::fs::create_dir(stage.path("plain")).unwrap();
    let plain = project_key(&stage.path("plain")).unwrap();
    std::os::unix::fs::symlink(stage.path("plain"), stage.path("plain-link")).unwrap();
    assert_eq!(project_key(&stage.path("plain-link")).unwrap(), plain);
    assert!(Layout::find(&stage.path("plain")).is_none());
}

#[test]
fn f5_a_directory_that_only_claims_to_be_a_worktree_is_a_project_of_its_own() {
    let stage = Stage::new();
    let task = stage.task("t");
    let key = project_key(&stage.app()).unwrap();
    let text = std::fs::read(task.join(".git")).unwrap();
    let claims = [text, format!("gitdir: {}\n", stage.app().join(".git").display()).into_bytes()];
    for (number, claim) in claims.into_iter().enumerate() {
        let forged = stage.path(&format!("forged{number}"));
        std::fs::create_dir(&forged).unwrap();
        std::fs::write(forged.join(".git"), claim).unwrap();
        assert_ne!(project_key(&forged).unwrap(), key, "claim {number}");
    }
    assert_eq!(shared_path(&task.join("src")).unwrap(), stage.app().join("src"));
}

#[test]
fn f5_a_bare_repository_is_one_project_with_the_directory_that_leads_to_it_and_all_of_its_worktrees() {
    let stage = Stage::new();
    let house = stage.path("house");
    std::fs::create_dir(&house).unwrap();
    let bare = house.join(".bare");
    stage.plain(&stage.app(), &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    std::fs::write(house.join(".git"), "gitdir: ./.bare\n").unwrap();
    stage.plain(&house, &["worktree", "add", "-q", "main"]);
    let key = project_key(&house).unwrap();
    assert_eq!(project_key(&house.join("main/src")).unwrap(), key);
    assert_eq!(project_key(&bare).unwrap(), key);
    let repository = Repository::open(&stage.git, &house.join("main")).unwrap();
    assert_eq!((repository.name().as_str(), repository.main_checkout()), ("house", None));
    assert_eq!(Repository::open(&stage.git, &house).unwrap().main_checkout(), None);
    let found = discover(&ProjectSearch::below(vec![house.clone()]));
    assert_eq!((found.len(), found[0].name.as_str(), &found[0].key), (1, "house", &key));
    // A file elsewhere that leads to the same repository does not make its directory a part of the project.
    let forged = stage.path("forged");
    std::fs::create_dir(&forged).unwrap();
    std::fs::write(forged.join(".git"), format!("gitdir: {}\n", bare.display())).unwrap();
    assert_ne!(project_key(&forged).unwrap(), key);
}

#[test]
fn f5_a_submodule_is_one_project_with_its_own_worktrees_and_not_with_what_contains_it() {
    let stage = Stage::new();
    let app = stage.app();
    stage.init(&stage.path("library"));
    stage.plain(&app, &["submodule", "--quiet", "add", stage.path("library").to_str().unwrap(), "my lib"]);
    let lib = app.join("my lib");
    let worktree = stage.path("lib--fix");
    stage.plain(&lib, &["worktree", "add", "-q", worktree.to_str().unwrap()]);
    let key = project_key(&lib).unwrap();
    assert_eq!(project_key(&worktree).unwrap(), key);
    assert_ne!(project_key(&app).unwrap(), key);
    let repository = Repository::open(&stage.git, &worktree).unwrap();
    assert_eq!((repository.name().as_str(), repository.main_checkout()), ("my lib", Some(lib.clone())));
    assert_eq!(shared_path(&worktree.join("src")).unwrap(), lib.join("src"));
}
