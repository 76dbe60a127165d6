//! `pad`: the scratchpads of a project, and the errors about them. Names that could lead elsewhere are
//! refused before a file is touched, and a process may use only its own project.

use proto::pads::{PadEntry, PadOutcome};
use proto::request::{Pad, PadAct};
use proto::rights::PERSON;
use proto::{ErrorCode, Failure, Reply, Role};
use store::{PadError, PadName, Pads, Revision, StoreError};

use super::connection::Client;
use super::trust::{blocking, caller_project};

/// Author names that a process may not have.
const TAKEN: [&str; 2] = [PERSON, "editor"];

/// Reads or changes scratchpads.
pub(super) async fn pad(client: &Client, request: Pad) -> Result<Reply, Failure> {
    let role = if is_reading(&request.act) { Role::View } else { Role::Type };
    let caller_project = caller_project(client, "pad", request.project, role).await?;
    let is_taken = !client.caller().is_person() && TAKEN.contains(&caller_project.name.as_str());
    let author = if is_taken { format!("process-{}", caller_project.name) } else { caller_project.name };
    let (pads, project_dir) = (client.door.pads.clone(), caller_project.project_dir);
    blocking(move || {
        let project = &project_dir.project.key;
        for former in project_dir.former_keys() {
            if let Err(error) = take_over(&pads, &former, project) {
                tracing::warn!(%error, former, project, "scratchpads stay under the key that their project had");
            }
        }
        act(&pads, project, &author, request.act).map(Reply::Pad)
    })
    .await
}

/// Moves the pads that were written under a former key of the same project. One whose name another pad has gets the
/// beginning of that key behind its name.
fn take_over(pads: &Pads, former: &str, project: &str) -> Result<(), PadError> {
    for (name, revision) in pads.list(former)? {
        let content = pads.read(former, &name)?.content;
        let put = |name: &PadName| pads.write(project, name, &content, &revision.author, Some(0)).map(drop);
        let other = format!("{name}-{}", former.get(..4).unwrap_or_default()).parse::<PadName>();
        match (put(&name), other) {
            (Err(PadError::Conflict { .. }), Ok(other)) => put(&other)?,
            (moved, _) => moved?,
        }
        pads.delete(former, &name, &revision.author, None)?;
    }
    Ok(())
}

/// Returns true if it changes nothing.
fn is_reading(act: &PadAct) -> bool {
    match act {
        PadAct::List(_) | PadAct::Read { .. } | PadAct::History { .. } => true,
        PadAct::Write { .. } | PadAct::Append { .. } | PadAct::Delete { .. } | PadAct::Rename { .. } => false,
    }
}

fn act(pads: &Pads, project: &str, author: &str, act: PadAct) -> Result<PadOutcome, Failure> {
    let changed = |name: PadName, revision| PadOutcome::Changed { name: name.to_string(), revision };
    match act {
        PadAct::List(_) => {
            let all = pads.list(project).map_err(|error| failure("name", error))?;
            Ok(PadOutcome::Listed(all.into_iter().map(|(name, revision)| entry(&name, revision)).collect()))
        }
        PadAct::Read { name, revision } => {
            let name = parse("name", &name)?;
            let read = match revision {
                Some(revision) => pads.read_revision(project, &name, revision),
                None => pads.read(project, &name),
            };
            let pad = read.map_err(|error| failure("name", error))?;
            let (name, revision) = (name.to_string(), pad.revision);
            Ok(PadOutcome::Text { name, content: pad.content, revision, author: pad.author })
        }
        PadAct::Write { name, content, expected_revision } => {
            let name = parse("name", &name)?;
            let written = pads.write(project, &name, &content, author, expected_revision);
            Ok(changed(name, written.map_err(|error| failure("content", error))?))
        }
        PadAct::Append { name, text } => {
            let name = parse("name", &name)?;
            let written = pads.append(project, &name, &text, author);
            Ok(changed(name, written.map_err(|error| failure("text", error))?))
        }
        PadAct::Delete { name, expected_revision } => {
            let name = parse("name", &name)?;
            pads.delete(project, &name, author, expected_revision).map_err(|error| failure("name", error))?;
            Ok(changed(name, 0))
        }
        PadAct::Rename { name, to } => {
            let (name, to) = (parse("name", &name)?, parse("to", &to)?);
            let revision = pads.rename(project, &name, &to, author).map_err(|error| failure("to", error))?;
            Ok(changed(to, revision))
        }
        PadAct::History { name } => {
            let name = parse("name", &name)?;
            let all = pads.history(project, &name).map_err(|error| failure("name", error))?;
            Ok(PadOutcome::History(all.into_iter().map(|revision| entry(&name, revision)).collect()))
        }
    }
}

fn entry(name: &PadName, revision: Revision) -> PadEntry {
    let Revision { number, author, at, bytes, .. } = revision;
    PadEntry { name: name.to_string(), revision: number, author, at, bytes }
}

fn parse(field: &str, name: &str) -> Result<PadName, Failure> {
    name.parse().map_err(|why: store::BadPadName| Failure::invalid(field, why))
}

/// Returns the error for a caller; `field` is the one that a refused content is about.
fn failure(field: &str, error: PadError) -> Failure {
    let message = error.to_string();
    match error {
        PadError::NotFound(_) => Failure::new(ErrorCode::NotFound, message).hint("`qd pads` lists them"),
        PadError::NoRevision(..) => {
            Failure::new(ErrorCode::NotFound, message).hint("its history lists the revisions that are kept")
        }
        PadError::Conflict { current } => Failure::new(ErrorCode::Conflict, message)
            .hint("read it, put the changes together and write with that revision")
            .revision(current),
        PadError::Taken(_) => {
            Failure::new(ErrorCode::Conflict, format!("to: {message}")).hint("choose another name")
        }
        PadError::TooLarge => Failure::invalid(field, message).hint("keep it in a file of the project"),
        PadError::NotText(_) => {
            Failure::invalid("name", message).hint("Quarterdeck did not write it; move it away")
        }
        PadError::Store(StoreError::NoSpace { .. }) => {
            Failure::new(ErrorCode::NoSpace, "no space left on the disk; the scratchpad is as it was")
                .hint("free some and write again")
        }
        PadError::Store(StoreError::Refused { .. }) => Failure::invalid("name", message),
        PadError::Store(_) => Failure::new(ErrorCode::Internal, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_a_full_disk_is_told_by_its_own_code() {
        let full = PadError::Store(StoreError::NoSpace { path: "/x".into() });
        assert_eq!(failure("content", full).code, ErrorCode::NoSpace);
    }

    #[test]
    fn k9_pads_of_a_former_key_move_and_overwrite_none() {
        let root = tempfile::tempdir().unwrap();
        let pads = Pads::new(&root.path().join("pads"));
        let (former, project) = ("0123456789abcdef", "fedcba9876543210");
        let (plan, notes) = (parse("name", "plan").unwrap(), parse("name", "notes").unwrap());
        pads.write(former, &plan, "old plan", "human", None).unwrap();
        pads.write(former, &notes, "old notes", "lead", None).unwrap();
        pads.write(project, &plan, "new plan", "human", None).unwrap();
        take_over(&pads, former, project).unwrap();
        let text = |name: &str| pads.read(project, &parse("name", name).unwrap()).unwrap();
        assert_eq!(
            (text("plan").content.as_str(), text("plan-0123").content.as_str()),
            ("new plan", "old plan")
        );
        assert_eq!((text("notes").content.as_str(), text("notes").author.as_str()), ("old notes", "lead"));
        assert!(pads.list(former).unwrap().is_empty());
        take_over(&pads, former, project).unwrap();
        assert_eq!(pads.list(project).unwrap().len(), 3, "a second time nothing happens");
    }

    #[test]
    fn a_bad_name_names_the_field_it_came_in() {
        let root = tempfile::tempdir().unwrap();
        let pads = Pads::new(&root.path().join("pads"));
        let rename = PadAct::Rename { name: "ok".to_owned(), to: "../x".to_owned() };
        let refused = act(&pads, "0123456789abcdef", "human", rename).unwrap_err();
        assert!(refused.code == ErrorCode::InvalidArgs && refused.message.starts_with("to: "), "{refused:?}");
    }
}
