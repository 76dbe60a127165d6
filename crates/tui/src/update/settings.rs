//! Keys in the settings and in the key recorder. What is changed is written to the file and comes back from there.

use term::{Key, KeyCode, KeyEvent};

use crate::keymap::{Action, Context, KeyName};
use crate::message::Command;
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::model::settings::{Recorder, Setting, quoted};

/// A key in the settings.
pub(super) fn key(model: &mut Model, key: Key) -> Vec<Command> {
    let action = model.looks.keymap.action(Context::Settings, &key);
    let Some(Overlay::Settings(view)) = model.overlays.last_mut() else { return Vec::new() };
    let most = Setting::ALL.len() - 1;
    let setting = Setting::ALL[view.selected.min(most)];
    match action {
        Some(Action::Down) => view.selected = (view.selected + 1).min(most),
        Some(Action::Up) => view.selected = view.selected.saturating_sub(1),
        Some(Action::Cancel) => drop(model.overlays.pop()),
        Some(Action::FocusLeft) => return change(model, setting, -1),
        Some(Action::Accept | Action::FocusRight) => return change(model, setting, 1),
        _ => {}
    }
    Vec::new()
}

fn change(model: &mut Model, setting: Setting, by: isize) -> Vec<Command> {
    match setting.step(model, by) {
        Some(value) => vec![Command::KeepSetting(setting.word(), value)],
        None => {
            model.overlays.push(Overlay::Recorder(Recorder::default()));
            Vec::new()
        }
    }
}

/// A key in the recorder, the prefix that there is included.
pub(super) fn record(model: &mut Model, key: Key) -> Vec<Command> {
    if key.event == KeyEvent::Release {
        return Vec::new();
    }
    let Some(Overlay::Recorder(recorder)) = model.overlays.last_mut() else { return Vec::new() };
    match (key.code, recorder.key.clone()) {
        (KeyCode::Escape, _) => drop(model.overlays.pop()),
        (KeyCode::Enter, Some(chosen)) => {
            model.overlays.pop();
            return vec![Command::KeepSetting(Setting::Prefix.word(), quoted(&chosen.to_string()))];
        }
        _ => match KeyName::of(&key) {
            Some(name) => recorder.record(name),
            None => recorder.refusal = Some("this key has no name here".to_owned()),
        },
    }
    Vec::new()
}
