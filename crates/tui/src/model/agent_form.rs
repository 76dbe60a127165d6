//! How an agent is started: its first message, what it may do without asking, and its model.

use proto::request::{AgentRequest, PermissionMode};

use super::line::Line;
use super::palette::Placement;

/// What an agent is started with beside its message; what is left out is as the vendor's program is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentSettings {
    pub(crate) mode: Option<PermissionMode>,
    pub(crate) model: Option<String>,
}

impl AgentSettings {
    /// What is asked of the daemon.
    pub(crate) fn request(self, prompt: Option<String>, session: Option<String>) -> AgentRequest {
        let Self { mode, model } = self;
        AgentRequest { prompt, session, mode, model, ..AgentRequest::default() }
    }
}

/// Mode and model while they are chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SettingsFields {
    pub(crate) mode: Option<PermissionMode>,
    pub(crate) model: Line,
}

impl SettingsFields {
    /// What stands in the field of the model while it is empty.
    pub(crate) const MODEL_HINT: &'static str = "its default; or a name in the vendor's words";

    /// Chooses the next mode or the previous one; before the first and behind the last there is none.
    pub(crate) fn step_mode(&mut self, is_back: bool) {
        let all: Vec<Option<PermissionMode>> =
            std::iter::once(None).chain(PermissionMode::ALL.map(Some)).collect();
        let at = all.iter().position(|mode| *mode == self.mode).unwrap_or(0);
        let by = if is_back { all.len() - 1 } else { 1 };
        self.mode = all[(at + by) % all.len()];
    }

    /// The mode with what it means.
    pub(crate) fn mode_words(&self) -> String {
        let meaning = match self.mode {
            None => "as its program is set up",
            Some(PermissionMode::Plan) => "reads and plans, changes nothing",
            Some(PermissionMode::Ask) => "asks before it changes or runs something",
            Some(PermissionMode::Edit) => "edits files, asks before it runs something",
            Some(PermissionMode::Auto) => "asks nothing",
        };
        format!("< {} >   {meaning}", self.mode.map_or("default", PermissionMode::word))
    }

    pub(crate) fn chosen(&self) -> AgentSettings {
        let model = Some(self.model.text().trim().to_owned()).filter(|model| !model.is_empty());
        AgentSettings { mode: self.mode, model }
    }
}

/// Where an agent is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StartIn {
    /// In the directory of the deck, to be shown there.
    Deck(Placement),
    /// In a task, in one of its sessions or a new one.
    Task { task: String, session: Option<String> },
}

/// What can be filled in for an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AgentField {
    #[default]
    Message,
    Mode,
    Model,
}

impl AgentField {
    pub(crate) const ALL: [Self; 3] = [Self::Message, Self::Mode, Self::Model];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Message => "First message (may be empty)",
            Self::Mode => "Mode",
            Self::Model => "Model",
        }
    }
}

/// The form of an agent that is to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentForm {
    pub(crate) agent: String,
    pub(crate) start_in: StartIn,
    pub(crate) field: AgentField,
    pub(crate) message: Line,
    pub(crate) settings: SettingsFields,
    /// The daemon is starting it.
    pub(crate) is_sent: bool,
    /// Why it could not be started.
    pub(crate) fault: Option<String>,
}

impl AgentForm {
    pub(crate) fn new(agent: String, start_in: StartIn) -> Self {
        Self {
            agent,
            start_in,
            field: AgentField::default(),
            message: Line::default(),
            settings: SettingsFields::default(),
            is_sent: false,
            fault: None,
        }
    }

    pub(crate) fn title(&self) -> String {
        match &self.start_in {
            StartIn::Deck(_) => format!("Start {}", self.agent),
            StartIn::Task { task, session: None } => format!("Start {} in {task}", self.agent),
            StartIn::Task { task, session: Some(_) } => format!("Go on with {} in {task}", self.agent),
        }
    }

    pub(crate) fn step(&mut self, by: isize) {
        let count = AgentField::ALL.len();
        let here = AgentField::ALL.iter().position(|field| *field == self.field).unwrap_or(0);
        self.field = AgentField::ALL[(here + count).saturating_add_signed(by) % count];
    }

    /// The line that the selected field edits.
    pub(crate) fn line(&mut self) -> Option<&mut Line> {
        match self.field {
            AgentField::Message => Some(&mut self.message),
            AgentField::Model => Some(&mut self.settings.model),
            AgentField::Mode => None,
        }
    }
}
