"""The rows of the threat table about models: texts that reach one, its goals, its workers, recipes of its plans."""

from __future__ import annotations

from tests.guard.threat import Threat

_GOALS = "tests/guard/test_hostile_goals.py::"
_SERVERS = "tests/guard/test_other_servers.py::"
_STEPS = "tests/core/plan/goals/test_steps.py::"


MIND_THREATS = (
    Threat(
        "T98",
        "a file, page or log leads the model of a goal to another device, tool, folder, host or secret",
        "each call is judged against the envelope that a person approved; calls beyond reading ask each time, and "
        "after a stranger was read, sends and writes elsewhere are refused",
        (
            _GOALS + "test_a_file_that_a_model_obeys_leads_no_call_out_of_the_envelope",
            _GOALS + "test_after_a_page_was_read_a_send_is_refused_without_a_question",
            _STEPS + "test_a_stranger_counts_as_read_whose_call_ended_while_a_person_was_asked",
            _STEPS + "test_a_path_within_a_record_is_bound_by_the_folders",
            "tests/core/plan/goals/test_spreading.py::test_a_spread_beyond_the_envelope_is_refused",
            _GOALS + "test_a_reviewer_changes_no_goal",
            _GOALS + "test_a_model_that_plans_a_goal_gets_no_more_right_by_it",
        ),
        part="logs and files of the owner's folders count as the owner's, although a stranger may have caused a line",
    ),
    Threat(
        "T104",
        "a goal answers from nothing, after its cancel, or with a hint of a program as a person's",
        "an answer has the types of its goal and cites results, a job that has ended takes none, and a hint needs a "
        "person",
        (
            _GOALS + "test_an_answer_that_rests_on_nothing_succeeds_in_nothing",
            _GOALS + "test_an_answer_after_its_cancel_counts_for_nothing",
            "tests/core/plan/goals/test_monitors.py::test_only_a_person_gives_a_hint",
        ),
        part="values in an answer are held against cited results by a judge alone, where the plan has one",
    ),
    Threat(
        "T109",
        "a worker that was stopped, or any other, has its turn taken in a goal that others have gone on with, or "
        "workers that end before they propose use up more than the goal may cost",
        "a turn needs the claim, a renewal never takes a job anew, and a goal whose tokens are used up is put to a "
        "person before the next worker asks its model",
        (
            "tests/core/plan/goals/test_monitors.py::test_no_worker_takes_a_goal_whose_tokens_others_have_used_up",
            "tests/sim/test_sim.py::test_no_schedule_with_minds_violates_a_promise",
        ),
        part="a worker that holds the claim speaks for the model: only what it proposes is judged",
    ),
    Threat(
        "T118",
        "a device or a model publishes a finding under another's topic, floods topics, or passes a stranger's text on "
        "as a finding",
        "the plan says which task writes about a topic, and only a person adds one; a goal publishes parts of its own "
        "results, under topics of its envelope; findings are bounded in number and bytes; each names the stranger "
        "behind it, whose text taints every goal that sees it",
        (
            "tests/core/plan/goals/test_published_findings.py::test_a_turn_with_a_finding_of_another_is_refused_whole",
            "tests/core/plan/goals/test_published_findings.py",
        ),
        part="a device that lies in the result of its own task is believed, as where the result is read by its task",
    ),
    Threat(
        "T115",
        "a worker that was stopped, or any other, has its plan, look, review, verdict or words taken for a job that "
        "nobody or another worker has",
        "a proposal of each kind needs the claim, and a worker is shown nothing from before its claim",
        (
            "tests/jobs/test_claiming.py::test_records_from_before_the_claim_are_not_shown",
            _GOALS + "test_t109_a_turn_without_the_claim_of_its_worker_counts_for_nothing",
        ),
        part="a worker that holds the claim speaks for the model: only what it proposes is judged",
    ),
    Threat(
        "T114",
        "a text of a page, mail, file, log, process, tool, server, agent, device, label or recipe gives orders to a "
        "model that obeys each of them",
        "what a model answers is judged like the wish of a stranger: within what a person approved, whatever stands "
        "before it; texts of others stand in prompts as lines of JSON or in a fence, with the reasons that repeat them",
        (
            _STEPS + "test_after_a_stranger_was_read_sends_outside_are_refused_and_not_asked",
            _SERVERS + "test_t112_a_tool_whose_argument_has_no_name_takes_no_other_with_it",
        ),
        part="within the envelope a model may be led to other reads, to a false answer, and to use up the budget",
    ),
    Threat(
        "T117",
        "the model of a goal hands over endlessly, to a role that does not exist, or with orders by which the next "
        "tier is to leave its envelope; or a hand-over gives a goal more budget, less taint or a smaller model",
        "a hand-over has two addressees, each tier asks a person once, an escalation changes no envelope, budget or "
        "taint, its reason stands in the next prompt as data, and no claim takes a goal back",
        (
            "tests/jobs/kinds/test_tiers.py::test_a_small_model_shares_no_more_than_the_next_tier_may_see",
            "tests/sim/test_sim.py::test_no_schedule_with_minds_violates_a_promise",
        ),
        part="within the envelope a small model may have a larger and dearer one asked, once a goal",
    ),
    Threat(
        "T119",
        "a plan that ended clean becomes a recipe with a stranger's words, a hidden call or a secret, for another "
        "person, or in place of a built-in recipe; or runs of a stranger, or a device that lies, have one go back",
        "a recipe is made by code from the words of its author and the plan that ran, and shown only if it makes that "
        "plan again; only the author keeps it; it takes no words of another recipe, and while on trial only "
        "its keeper's, with the hash of the preview; a value of a look goes into calls that only read; only runs of "
        "its owner that fail by the plan take it back, and only to a text of that person",
        (
            "tests/core/people/recipes/test_tracing.py",
            "tests/edge/routes/requests/test_proposals.py::test_another_person_neither_sees_keeps_nor_dismisses_it",
            "tests/planner/recipes/test_plan_document.py",
        ),
        part="a constant that a model chose is a default that the person sees; a secret without the name or form of "
        "one is not recognised; where a recipe uses one device, a lie of that device in two runs of the recipe's owner "
        "has it go back to a text that this person saved before: the Inbox tells it and a person may undo it",
    ),
    Threat(
        "T123",
        "a schedule that only read, or was approved, does more than that without a person: its recipe or a tool begins "
        "to write, or a caller who may not approve sets a faster clock, fires it now, or ends its pause",
        "each firing is judged as strictly as the schedule was; who may not approve changes no clock of what was "
        "approved, and starts none of it",
        part="a schedule that an earlier release kept is judged so from its next change on",
    ),
    Threat(
        "T124",
        "the schema of one tool of a device stops the hub, or every preview and request for the tools of others, or "
        "the command line that lists it",
        "a schema is read for so many parts and no more, whatever refers to what; a part of another kind counts as "
        "any value, a position in a list is a short number, and sizes of facts are the hub's own words",
        part="a schema with more parts than are read allows any value, so a plan for that tool is judged less",
    ),
    Threat(
        "T125",
        "a device offers so many slots that it draws all work, tools whose names look like others, a tool twice with "
        "different effects, or so much and so often that it fills the log",
        "an offer has bounds, each tool has a name that a plan can write and stands once, and a connection that "
        "changes its offer without pause ends; what is beyond is refused whole",
        part="within its slots, 4,096 at the most, a device may keep work until its timeout",
    ),
    Threat(
        "T126",
        "a fact, a grant, a title, a schema or a condition of a device, a device that only asks to join, or a phrase "
        "of a recipe writes terminal commands into the lists of the command line",
        "lines with texts of others are printed by one function, which writes such signs out",
        part="no check finds a new line of the command line that prints such a text in another way",
    ),
    Threat(
        "T127",
        "whoever may run work becomes the owner of another person's schedule by a change of nothing or of its name: "
        "it then runs as them, is judged as theirs, and stops when their token ends",
        "a change that differs in nothing is not kept, and a new name leaves the owner; who changes what runs, when or "
        "who hears of it owns it from then on, and so does who approves its plan again",
    ),
    Threat(
        "T128",
        "a program or an assistant marks as seen that a schedule failed, that a recipe went back, or that a device "
        "remembers work which the hub lost, so that no person learns of it",
        "only a person marks a notice as seen, whatever the role and the scopes of the token are",
        part="a program that holds the token of a person counts as that person; a schedule that is stopped loses its "
        "notice when it is resumed, and one whose owner chose no notices has none",
    ),
    Threat(
        "T129",
        "a device connects again and again, so that its coming and going, or its changes of offer and condition,"
        " of which each is an event and was counted from nought each time, fill the log",
        "connections and changes are counted by device over all of its connections; one too many is refused for a time,"
        " a connection that changes too much ends, and a report that says what the one before said is no change",
        part="a restart of the hub begins the count anew",
    ),
    Threat(
        "T134",
        "somebody without a sign-in, in the network, behind a proxy, at a tunnel or with another account of the hub's "
        "own computer, learns from a refusal where the hub keeps its data and whose account it is",
        "no refusal names a folder: a caller on this computer reads how the program is typed where its environment "
        "lies, everybody else the name that documents use",
    ),
    Threat(
        "T163",
        "an operator or a viewer, whom an owner invited, learns where the hub keeps its data and whose account it is",
        "the whole command line is part of an owner's session only; every other role reads the name that documents use",
    ),
    Threat(
        "T164",
        "a person, a token, a session or a device that was revoked after a backup comes back with its restore; a link "
        "or a join code that was used since is used again",
        "a restore compares the backup with the history until then, and nobody has more rights than in either; where "
        "that cannot be read, sessions, invitations, links and join codes end, and the rest is listed with the lines "
        "that revoke it. The hub is told before it opens a socket",
        (
            "tests/guard/test_restored_rights.py",
            "tests/core/people/test_restored_rights.py",
            "tests/host/test_backup.py::test_a_history_that_cannot_be_read_is_said_and_moved_aside",
        ),
        part="on a new machine programs and devices keep the rights of the backup until a person has read the list; a "
        "history that is copied into place by hand is not compared",
    ),
    Threat(
        "T166",
        "a plan file, copied from somebody or made by a program, puts a whole folder or hundreds of files into the "
        "trash unasked, since such a call is a write that can be taken back",
        "a call with many paths, with one that may be a folder's, or with paths of a result and no question before it "
        "needs an approval, and an edit that adds it the right to approve; the question names what goes",
        (
            "tests/guard/test_wide_trash.py",
            "tests/core/rights/test_trashed_calls.py",
            "tests/recipes/test_duplicates.py::test_the_original_stays_whatever_its_name_and_the_question_says_so",
        ),
        part="a folder whose name ends as that of a file does goes unasked, and so do twenty files of each plan",
    ),
    Threat(
        "T175",
        "a plan trashes many files in tasks of a few, behind a question whose *no* lets it go on or that has no *no*, "
        "by an undo of a task that only looks, beside a rule that names the task with less, by a recipe that a model "
        "has kept, by a goal, or by a change of the plan while it waits",
        "named files of all tasks count together, a task as the widest that a rule may make of it, an undo as a call; "
        "a question counts only where its answer can keep the task from running",
        part="the words of a question are those of the plan; calls with `on_clash: replace` put the files that they "
        "replace into the trash unasked",
    ),
    Threat(
        "T246",
        "a plan asks whether all is well, or shows one list, and puts another into the trash; or another list, device "
        "or call is put behind a question that a person has answered",
        "a question counts only where it shows the result that names the files, or something made of it, and for no "
        "change after its answer by somebody who may not approve; every other list is shown by the hub's own question",
        part="what a plan makes of the list for its question, as a table, is the plan's",
    ),
    Threat(
        "T190",
        "an assistant, or a program without the right to approve, starts a recipe by its name with values of its own, "
        "and all older backups go into the trash unasked",
        "a recipe goes unasked only for someone who may answer the question; the rotation of backups counts as a call "
        "that chooses what it trashes",
        part="someone who may approve and starts a recipe by its name is not asked again",
    ),
    Threat(
        "T147",
        "a device answers with one long word, and the check of a model's words against it keeps a worker busy for an "
        "hour",
        "figures and names are read in one pass, in a time that grows with the length of a text; how much of a value "
        "is read is bounded",
        ("tests/planner/model/conversations/test_evidence.py::test_a_long_text_of_a_device_is_read_in_one_pass",),
    ),
    Threat(
        "T139",
        "whoever may only look, or another person, reads by the preview of a prompt what a person asked before, or "
        "the key of the model",
        "only a caller who may submit sees the text, which has no key and of earlier requests the caller's own",
    ),
    Threat(
        "T142",
        "a model that obeys a text plans to drain or resume devices under a harmless name, and the person who is "
        "asked reads no device in the question",
        "the question is made of the calls: it says *drain* or *resume* with the names of the devices, known or not",
        part="more than five devices are counted in the sentence; the plan below it names them all",
    ),
    Threat(
        "T152",
        "a model or an assistant writes the sentence that opens an answer (*all is safe*), takes out the work that a "
        "sentence rests on, or a text of a device passes for a sentence",
        "only a person's plan or recipe has sentences, without parameters; after an edit by a model none is used; a "
        "text of a device stands in quotes on one line, shortened, and a number beyond all use is not shown",
        (
            "tests/guard/test_rights.py::test_t32_an_assistant_names_no_secret_and_approves_nothing",
            "tests/core/answer/test_stated.py::test_a_plan_that_a_model_edited_states_nothing",
            "tests/core/answer/test_stated.py::test_a_text_from_a_device_stays_in_its_quotes",
            "tests/core/answer/test_stated.py::test_a_value_of_another_kind_leaves_the_sentence_out",
        ),
    ),
    Threat(
        "T140",
        "work that goes on from a request that shares less with a model, a fork or a schedule that repeats it, shows "
        "the model what the person kept from it",
        "a fork and each firing have the bound of the request that they come from, whoever begins them",
        part="words that are typed again are a new request, with its own choice",
    ),
    Threat(
        "T145",
        "a server or a program that fails puts orders into the reason of its failure or its last output, which the "
        "model of a goal reads, and the goal counts as one that has read no stranger",
        "a call that ran counts as a stranger's text however it ended; only one that was refused or never started "
        "has the device's own words",
        part="a device that lies about a refusal is believed",
    ),
    Threat(
        "T148",
        "a result that is voted on asks its judge to be chosen, or a judge that obeys it answers something else",
        "the judge sees each result in one line before the plan's question; its answer is the name of a call of the "
        "vote that gave a result, or *none*, and anything else leaves the choice to a person",
        ("tests/core/run/test_choices.py",),
        part="a model may be talked into another of the results; the vote gives no value that no call gave",
    ),
    Threat(
        "T162",
        "a model, or a text that it obeys, says in words without a figure or a name that all went well where a task "
        "failed",
        "words that cite none of the failed tasks without which the work is not done are asked for again, then left "
        "away; the sentence of the hub stands beside any words",
        ("tests/planner/model/conversations/test_answer_talk.py",),
        part="a sentence that cites a failed task and says that it went well is believed, as words are not understood",
    ),
    Threat(
        "T215",
        "a model, or a text that it obeys, has the question before its work go to a person of its choice alone, so"
        " that whoever asked for the work cannot say no",
        "a question in a plan or edit of a model names only whoever asked for it and people in a person's words",
        part="a whole plan that an assistant submits may name people; they need the right to answer",
    ),
    Threat(
        "T250",
        "an assistant, or a text that it obeys, replaces a file of a granted folder while nobody looks",
        "a plan whose words a model chose, with a call that may overwrite files, waits for a person; an edit adds none",
        part="a device whose owner granted writing takes new files at once; an undo takes them away again",
    ),
    Threat(
        "T272",
        "a plan, or a text that it passes on, begins with `-e`: on a Mac the notice, the question or the typed text is"
        " a script that runs outside of every cage; on Linux a notice has a link that reads as another address",
        "each text stands behind the end of the options; the body of a notice has no markup",
        part="osascript is played by a program that reads its options by getopt, as the one of macOS does",
    ),
)
