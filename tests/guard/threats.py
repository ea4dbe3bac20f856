"""The threat table, a row per id: what is threatened, how it is held, and the tests that show it.

A test named `test_<id>_...` belongs to its row wherever it stands; `others` names those of another name. A row without
any test says in `beyond` why the product does not reach so far; `part` says what is not shown.
"""

from __future__ import annotations

from tests.guard.device_threats import DEVICE_THREATS
from tests.guard.given_threats import GIVEN_THREATS
from tests.guard.mind_threats import MIND_THREATS
from tests.guard.people_threats import PEOPLE_THREATS
from tests.guard.threat import Threat

_AIP = "tests/edge/agents/test_aip.py::"
_PLANNING = "tests/planner/model/conversations/test_planning.py::"
_CAGE = "tests/device_agents/sandbox/"
_LINKS = "tests/guard/test_links.py::"
_RACE = "tests/guard/test_link_race.py::"
_REUSED = "tests/guard/test_reused_results.py::"


THREATS = (
    Threat(
        "S1",
        "an agent claims another id or role",
        "identity from the proved key",
        (
            _AIP + "test_a_device_cannot_be_named_with_another_key",
            _AIP + "test_a_result_in_the_name_of_another_device_counts_for_nothing",
        ),
    ),
    Threat("S2", "a browser page opens a socket", "Origin and a ticket"),
    Threat(
        "S3",
        "DNS rebinding, 0.0.0.0",
        "list of hosts, a token always",
        ("tests/edge/web/test_shield.py::test_a_foreign_host_is_refused_everywhere",),
    ),
    Threat(
        "S4",
        "a false hub",
        "the hub's key is pinned",
        (
            "tests/device_agents/wire/test_dialling.py::test_a_socket_with_another_key_is_ended_before_it_says_hello",
            "tests/device_agents/work/test_runtime.py::test_a_hub_with_another_key_is_left",
        ),
    ),
    Threat(
        "S5",
        "codes of enrollment guessed or replayed",
        "80 bits, one use or as many as asked for, ten minutes or an end of a week at the most, limits",
        (
            "tests/edge/routes/fleet/test_joining.py::test_a_code_is_good_for_one_device_and_ten_minutes",
            "tests/edge/routes/fleet/test_joining.py::test_a_code_for_several_devices_lets_in_as_many_and_no_more",
            "tests/edge/routes/fleet/test_joining.py::test_a_code_for_several_devices_ends_by_time_and_by_its_owner",
        ),
    ),
    Threat(
        "T1",
        "state altered in SQL or Redis",
        "a chain of hashes, commits by term and position",
        ("tests/store/sql/test_audit.py::test_what_was_changed_is_found_and_named",),
        part="the log is chained; values in Redis are not sealed one by one: who may write there is trusted",
    ),
    Threat(
        "T2",
        "a running task is edited",
        "refused at commit",
        ("tests/core/plan/test_edits.py::test_conflicts_are_judged_by_base_version",),
        part="the race itself runs in make sim",
    ),
    Threat(
        "T3",
        "an artifact is exchanged",
        "addressed by SHA-256",
        (
            "tests/device_agents/wire/test_artifacts.py::test_other_bytes_are_not_believed",
            "tests/store/blobs/test_artifacts.py::test_wrong_bytes_are_discarded_and_can_be_sent_again",
        ),
    ),
    Threat("T4", "an update is rolled back or frozen", "TUF", beyond="agents do not update themselves yet"),
    Threat(
        "R1",
        "somebody denies having run or approved",
        "the chained log and the device's ledger",
        (
            "tests/store/sql/test_audit.py::test_what_was_changed_is_found_and_named",
            "tests/store/sql/test_audit.py::test_a_chain_made_anew_does_not_meet_an_anchor",
        ),
    ),
    Threat(
        "I1",
        "one reads what belongs to another",
        "an owner check on every object",
        (_AIP + "test_a_log_is_kept_only_from_the_device_that_has_the_attempt",),
        part="a hub has one owner: people share its work by role, so there are no tenants to sweep; devices are swept",
    ),
    Threat(
        "I2",
        "a secret in a log, a model's prompt or the page",
        "given by reference, scrubbed by value",
        ("tests/recipes/test_secrets.py", "tests/protocol/text/test_scrubbing.py"),
    ),
    Threat(
        "I3",
        "a stale session's rights or results go to another",
        "bound to the connection",
        (
            _AIP + "test_a_proof_of_another_connection_is_of_no_use",
            "tests/edge/routes/work/test_artifacts.py::test_the_token_of_a_session_ends_with_it",
        ),
    ),
    Threat("D1", "a flood of frames", "limits", part="20 attackers in this process; the honest p99 is not measured"),
    Threat(
        "D2",
        "10,000 agents come at once",
        "a bounded number of proofs at a time, the oldest gives way, and agents come again with jitter",
        part="the bound is shown here; the storm itself runs in make chaos",
    ),
    Threat("D3", "a bomb of JSON, YAML or a plan", "limits of size and depth before anything is built"),
    Threat(
        "D4",
        "artifacts fill the disk",
        "quotas",
        (
            "tests/store/blobs/test_artifacts.py::test_a_full_store_refuses_at_the_first_chunk",
            "tests/store/blobs/test_artifacts.py::test_a_full_disk_is_said_plainly_and_leaves_the_upload_where_it_was",
        ),
    ),
    Threat(
        "E1",
        "a planner's words reach a shell",
        "typed recipes, argv only",
        (
            "tests/device_agents/toolkit/running/test_programs.py::test_a_program_runs_by_its_words_and_no_shell_reads_them",
        ),
    ),
    Threat(
        "E2",
        "escape from the sandbox",
        "cage, limits, own directory",
        (_CAGE + "test_cage.py", _CAGE + "test_python_in_cage.py"),
    ),
    Threat(
        "E3",
        "a token does more than its scope",
        "one table",
        ("tests/edge/test_guard.py", "tests/guard/test_matrix.py"),
    ),
    Threat(
        "E4",
        "a prompt hidden in data gives orders",
        "a review adds only what was approved",
        (
            "tests/guard/test_hostile_reviews.py::test_a_message_of_a_tool_widens_nothing",
            "tests/jobs/test_modelling.py::test_a_hostile_review_never_widens_what_was_approved",
            "tests/planner/model/conversations/test_planning.py::test_hostile_text_in_the_request_and_the_fleet_stays_data",
            "tests/guard/test_prompts.py::test_no_text_of_a_stranger_leaves_its_line_or_its_fence",
            "tests/guard/test_prompts.py::test_a_grant_with_an_odd_name_becomes_no_line_to_type",
        ),
        part="not 300 payloads by 6 channels",
    ),
    Threat(
        "E5",
        "the hub is made to dial",
        "it dials only what its owner set",
        (_PLANNING + "test_the_name_is_resolved_once_a_call_and_only_that_address_is_dialled",),
    ),
    Threat(
        "E6",
        "a hostile hub orders a device",
        "the device's own policy",
        (
            "tests/device_agents/policy/test_policy.py",
            "tests/device_agents/work/test_runtime.py::test_what_the_policy_refuses_is_never_started",
        ),
    ),
    Threat(
        "T42",
        "a device offers more than its join code allowed",
        "the hub cuts each offer down to the code's profile and says so",
        (
            "tests/edge/agents/test_profile_limit.py::test_an_offer_beyond_the_join_code_is_cut_down",
            "tests/edge/agents/test_profile_limit.py::test_a_cut_offer_stands_in_the_log_with_its_device",
            "tests/edge/agents/test_profile_limit.py::test_work_beyond_the_join_code_is_not_given",
        ),
        part="what a tool may do is the device's own word: a device that calls a tool harmless is believed",
    ),
    Threat(
        "T46",
        "somebody makes a device leave that does not want to",
        "a signature of the device's own key over this hub and a nonce; the hub signs its answer",
        ("tests/core/fleet/test_devices.py::test_a_device_that_leaves_gives_its_work_back_by_its_own_word",),
    ),
    Threat(
        "T47",
        "somebody has a device install an agent that its hub does not hand out, or an older one",
        "the hub signs names, versions and hashes for this device and its nonce; only a person at the device begins it",
        part="a hub that is taken over hands out what it likes to those who type the command",
    ),
    Threat(
        "T48",
        "a device gives itself the labels that plans select by",
        "labels asked for at joining are shown and given by the person who approves; no offer or later request counts",
    ),
    Threat(
        "T43",
        "a device fetches what no attempt of it names",
        "rights by attempt; an upload of known bytes has to show all of them",
        (
            "tests/edge/agents/test_artifact_rights.py::test_a_known_hash_alone_opens_no_artifact",
            "tests/edge/agents/test_artifact_rights.py::test_an_upload_of_other_bytes_gives_no_right",
            "tests/edge/agents/test_artifact_rights.py::test_open_attempts_keep_their_inputs_over_a_restart",
        ),
        part="a hash that a device returns and a later task on it reads counts as named",
    ),
    Threat(
        "T44",
        "a package index gives a joining device something else",
        "the hub names each package with version and hash; pip takes nothing else",
        (
            "tests/device_agents/install/test_join_packages.py::test_packages_are_installed_by_the_hash_that_the_hub_names",
            "tests/device_agents/install/test_join_packages.py::test_the_pins_of_a_device_are_those_of_the_lock",
            "tests/device_agents/install/test_join_packages.py::test_the_pins_name_every_package_of_the_agent",
        ),
        part="pip itself and the Python of the device are trusted as they are",
    ),
    Threat(
        "T29",
        "a stranger holds the hub's or a tunnel's port",
        "the hub signs the handshake, each message is sealed, requests for artifacts are proved",
        (
            _AIP + "test_a_message_without_the_seal_ends_the_connection",
            "tests/device_agents/wire/test_joining.py::test_a_false_hub_cannot_show_the_words_of_the_real_one",
            "tests/device_agents/wire/test_artifacts.py::test_an_answer_that_is_not_the_hubs_counts_for_nothing",
            "tests/device_agents/work/test_runtime.py::test_a_hub_that_knows_no_proof_is_left",
            "tests/device_agents/work/test_runtime.py::test_a_refusal_before_the_proof_ends_nothing",
        ),
    ),
    Threat(
        "T30",
        "the owner's token goes to a stranger's listener; a server's other users stand in for a tunnel",
        "Unix sockets with the peer's user checked by both sides; TLS with the pinned key inside tunnels",
        (
            "tests/client/test_own_socket.py::test_a_socket_of_another_user_is_told_nothing",
            "tests/host/servers/test_tunnels.py::test_a_tunnel_ends_in_tls_with_the_hubs_key",
            "tests/device_agents/wire/test_dialling.py::test_a_socket_of_another_user_is_not_spoken_to",
            "tests/edge/listeners/test_own_sockets.py::test_another_user_is_cut_off_before_it_is_heard",
        ),
        part="the other user is made up here: the tests run as one",
    ),
    Threat("E7", "pickle, yaml or eval runs data", "banned, looked for in the source"),
    Threat(
        "T27",
        "a link leads a file tool out of the granted folders",
        "files by descriptor beneath a folder, no link followed, Landlock around the process",
        (
            _LINKS + "test_copy_writes_nothing_through_a_folder_link",
            _LINKS + "test_an_upload_keeps_the_file_that_was_checked",
            _LINKS + "test_a_half_written_file_follows_no_link",
            _LINKS + "test_log_search_follows_no_link_out",
            _LINKS + "test_a_linked_trash_moves_nothing_out",
            _LINKS + "test_git_archive_stores_only_what_git_wrote",
            _RACE + "test_the_swapper_catches_an_opening_by_name",
            _RACE + "test_no_tool_leaves_its_folder",
            _RACE + "test_no_confined_process_leaves_its_folder",
            _RACE + "test_a_result_file_leaves_no_folder",
            _RACE + "test_a_program_in_the_cage_leaves_no_folder",
        ),
    ),
    Threat(
        "T28",
        "a request rewrites the policy of the device",
        "a seal by a key of the agent's home; what was edited is accepted by a typed line only",
        (
            "tests/device_agents/policy/test_policy.py::test_a_policy_edited_by_hand_is_not_in_force",
            "tests/device_agents/policy/test_policy.py::test_another_homes_seal_does_not_fit",
            "tests/device_agents/policy/test_policy.py::test_a_folder_behind_a_link_is_not_accepted",
            "tests/device_agents/work/test_runtime.py::test_a_policy_that_was_forged_allows_only_to_observe",
        ),
    ),
    Threat(
        "T31",
        "a plan hides an effect beside its tool: files saved, an undo, a look, a rule",
        "one judge of all that a task does, asked by approval, preview and review",
        (
            "tests/core/rights/test_call_effects.py",
            "tests/device_agents/tools/test_effects.py::test_a_call_that_counts_as_read_changes_nothing",
        ),
    ),
    Threat(
        "T32",
        "an assistant names a secret, hides an effect or approves, by MCP, REST, edits, forks, schedules or recipes",
        "the author of each input is judged in the core",
    ),
    Threat(
        "T33",
        "a token gets more role or scopes, or sets an approval aside",
        "a token has at most its issuer's rights; setting aside needs the scope approve",
    ),
    Threat(
        "T34",
        "a token or session outlives the one that made it",
        "each has its parent, and ends with it",
    ),
    Threat(
        "T35",
        "a caller ends, reads or hides behind what belongs to another",
        "tokens of one's own line; keys of idempotency of one's own; author and token in each event",
    ),
    Threat(
        "T36",
        "a hub chooses folder, input or variables of a command that the owner typed whole",
        "a rule covers its words in its folder; anything beside asks the owner",
        ("tests/device_agents/policy/test_policy.py::test_no_call_is_unasked_but_the_one_that_was_typed",),
    ),
    Threat(
        "T39",
        "a caged program uses memory or disk without limit",
        "what its group uses and writes is measured; memory that no process shows cannot be made",
        (
            _CAGE + "test_escapes.py::test_no_kind_of_memory_passes_its_limit",
            _CAGE + "test_escapes.py::test_memory_without_a_process_cannot_be_made",
            _CAGE + "test_escapes.py::test_more_disk_than_allowed_ends_it",
            _CAGE + "test_levels.py::test_the_trial_sees_a_cage_without_its_watch",
        ),
        part="writes of a child that nobody waits for are seen in its own folder and by the disk's free space alone;"
        " buffers of pipes and sockets are bounded by the number of descriptors",
    ),
    Threat(
        "T40",
        "a caged program goes around its cage by calls of the kernel",
        "one filter of system calls for every layer and for file tools; the trial tries each",
        (
            _CAGE + "test_escapes.py::test_each_call_around_the_cage_is_refused",
            _CAGE + "test_escapes.py::test_no_socket_leads_around_the_empty_network",
            _CAGE + "test_escapes.py::test_the_keys_of_the_session_stay_the_agents",
            _CAGE + "test_escapes.py::test_limits_of_processes_outside_stay",
            _CAGE + "test_levels.py::test_the_trial_sees_a_cage_without_its_filter",
            _CAGE + "test_confinement.py::test_a_confined_process_has_the_filter_of_cages",
        ),
        part="the aarch64 filter is checked for its form only",
    ),
    Threat(
        "T41",
        "a caged program changes modes, times or attributes of files outside, or watches them",
        "read-only mounts; without mounts, the filter refuses every such call",
        (
            _CAGE + "test_escapes.py::test_metadata_of_files_outside_stays",
            _CAGE + "test_escapes.py::test_news_of_files_outside_are_not_heard",
        ),
        part="with Landlock alone a program can still find out whether a path exists",
    ),
    Threat(
        "T49",
        "a call finds values, secrets or state of an earlier call",
        "the tool's process alone reads the call and answers; runner and zygote never hold a word of it",
        part="hash seed and address layout are the same in all calls; files that a tool leaves in granted folders stay",
    ),
    Threat(
        "T50",
        "a call stops, kills, reads or imitates its runner or the zygote",
        "the zygote ends what a killed runner leaves, the agent holds the deadlines once more, memory is closed",
        part="as root memory is open to root; a daemon outlives a call that kills the zygote and then its runner",
    ),
    Threat(
        "T51",
        "a page, drawing or PDF of an answer acts on who looks at it",
        "frames without scripts, a policy for each file; drawings only as pictures; Markdown without HTML",
        ("tests/edge/routes/work/test_artifacts.py::test_a_person_uploads_and_downloads",),
        part="a PDF is shown by the browser's own viewer, which no sandbox holds; a link pressed in a file in a "
        "tab of its own leads where it says",
    ),
    Threat(
        "T52",
        "a device lies about its figures: impossible ones, no numbers at all, a flood of them",
        "each has a range, a device one point a step in lines of its own, all of them a bounded place in memory; "
        "nothing is decided by them and nothing of them is written down",
        ("tests/edge/agents/test_vital_lines.py::test_of_too_many_devices_those_heard_last_are_kept",),
        part="a device may tell a wrong figure that could be, or answer late; its own line is wrong then",
    ),
    Threat(
        "T83",
        "a model looks at more than a plan that only reads may without a person, or a file that it saw gives it orders",
        "each call is judged by the device's own offer and by the rights of a model's plan; a card is one fenced line, "
        "bounded and scrubbed, and the plan that follows is judged like any other",
        (
            "tests/core/people/test_looks.py",
            "tests/jobs/kinds/test_looking.py::test_a_hostile_result_widens_nothing",
            "tests/jobs/kinds/test_review_looking.py::test_a_result_of_a_look_that_gives_orders_widens_nothing",
            "tests/planner/context/test_cards.py",
        ),
        part="a secret that Starloom was never told, in no known form, may stand in the head of a file that the owner "
        "shares",
    ),
    Threat(
        "T84",
        "a result tells its judge to say yes, a judge obeys a text, or something goes past the judge",
        "the judge is another role in a context of its own, sees data in one line each before the plan's question, and "
        "can only give a verdict with a cite that leads to a value; no edit removes it, and I17 holds after every step",
        ("tests/core/run/test_judgement.py",),
        part="a model may be talked into a wrong yes with a true cite; checks by code come first and read no words",
    ),
    Threat(
        "T92",
        "a text of a stranger in a place of an answer steers a terminal, the page or a model, or brings a secret along",
        "a place takes one number or one short line, scrubbed, put in after the last check; the text goes to the "
        "person and into no prompt, and marks in it are no sources",
        ("tests/planner/model/conversations/test_answer_talk.py",),
        part="a stranger's words of up to 80 characters stand in a sentence of the answer, as they would in the result",
    ),
    Threat(
        "T93",
        "a model, its endpoint or a worker misuses the drawing of an unfinished plan: markup, control signs, floods, "
        "tasks that look approved",
        "a sketch is typed, bounded and rebuilt by the hub, goes only to pages that look at the constellation, and is "
        "in no state: there is nothing to approve, edit or carry out",
        (
            "tests/edge/live/test_sketches.py",
            "tests/planner/model/test_sketching.py",
            "tests/planner/model/transport/test_streaming.py",
        ),
        part="a program that may write to the shard's Redis may draw a false picture for a job of a known worker; it "
        "could post inputs in the name of that worker, too",
    ),
    Threat(
        "T96",
        "a result names the device of a later task: one that the plan does not allow, or one named like another",
        "only a device of the set that was shown and approved is taken, ids before names, exactly one; else the task "
        "fails. Without a set, only calls that read are taken",
        ("tests/core/plan/test_named_devices.py",),
        part="a device that lies may name any device of the set",
    ),
    Threat(
        "T97",
        "a result of a look has its planner invent an answer, end a request in a person's name, or run more",
        "words without a plan are held against the looks that they cite and come from the job's own worker; only an "
        "answer of a person to a question can withdraw a request, and nothing but reading was done",
        (
            "tests/core/people/test_answers_of_looks.py",
            "tests/core/plan/test_review_hold.py::test_a_hold_has_a_least_and_a_most",
        ),
        part="a sentence without a figure or a name is held against nothing, as in every answer",
    ),
    Threat(
        "T101",
        "an agent of others on a device reaches files, programs or processes that its owner did not name",
        "its files go through the door of our own tools, its programs through the command rules, and the kernel "
        "confines its own hands to its folder, without the rights of root",
        ("tests/device_agents/tools/agents/test_agent.py",),
        part="the network is open to it, so it may send what it may read; it sees command lines; before Linux 6.12 it "
        "may send signals; with `confined = false` it has all rights of the account",
    ),
    Threat(
        "T102",
        "an agent of others gets a permission by a lie, a flood or an answer for another action, or outlives its call",
        "each permission is a question of the device, bound to a hash of the action and answered once; no claim saves "
        "one; messages, questions, time and silence are bounded, and the runner ends all that it started",
        ("tests/device_agents/toolkit/clients/test_other_agents.py",),
        part="an owner may be talked into a yes by the words of an agent; the input of the action stands beside them",
    ),
    Threat(
        "T105",
        "a device or a model takes a revoked device out of the record, has its key back that way, marks calls in "
        "doubt, or approves a plan whose devices are gone",
        "only a person with the right over the fleet forgets a device that is gone, its record and its key's refusal "
        "stay; a mark of a group and an approval need what a mark of a task and an approval need",
        (
            "tests/guard/test_gone_devices.py",
            "tests/core/fleet/test_devices.py::test_a_device_that_is_gone_is_forgotten_and_its_key_stays_refused",
            "tests/guard/test_matrix.py",
        ),
        part="the list of all devices, with those that are forgotten, is asked for by `all`",
    ),
    Threat(
        "T99",
        "a result keeps turns going without end, puts a value or a secret into the next call, sets a time of its "
        "choice, or speaks to the person who is asked",
        "turns are bounded and their number is approved where the call does more than read; a carried value is an "
        "input; one form of a time within a bound is taken; a shown result is bounded text, and no question is asked "
        "without it",
        (
            "tests/core/plan/test_repeats.py",
            "tests/core/clock/test_moments.py",
            "tests/core/people/test_shown_results.py",
            "tests/cli/text/test_shown_text.py",
        ),
        part="a device that lies may use all turns, name any time within the bound, and show a person a false result",
    ),
    Threat(
        "T107",
        "an old result stands in for work that should be done: by a hash that a device lies about, for another person, "
        "or after the rights to it are gone",
        "a result is kept under a hash of all it depends on, the person and the place among them; a device that has to "
        "look is looked at unless it told the hash itself; other terms of the device make its results void",
        (
            _REUSED + "test_a_device_that_names_an_old_hash_keeps_no_other_from_being_looked_at",
            _REUSED + "test_a_lying_result_stands_for_no_other_device",
            _REUSED + "test_a_device_that_answers_for_another_keeps_nothing",
            _REUSED + "test_a_person_takes_over_own_results_alone",
            _REUSED + "test_a_result_falls_with_the_terms_under_which_it_was_made",
            _REUSED + "test_a_file_whose_bytes_are_gone_is_made_again",
            _REUSED + "test_a_plan_cannot_call_work_with_effects_reusable",
            _REUSED + "test_a_device_cannot_offer_a_key_by_its_items",
        ),
        part="where the plan names no device, a device that lies is believed until it is revoked or set aside",
    ),
    Threat(
        "T108",
        "a plan of somebody without the right, a schedule, an edit, a result or a device's offer drains a device; a "
        "device ends the work of others by what it reports, or floods the log with reports",
        "controlling a device needs the right of its route, stands in a plan that a person approves whole, with "
        "arguments that the plan has, and is judged again when it is made; a report counts for the open attempt of its "
        "own device, and what is read and kept of reports is bounded",
        (
            "tests/core/fleet/test_hub_calls.py",
            "tests/core/plan/test_progress_rules.py",
            "tests/edge/agents/test_progress_lines.py",
        ),
        part="a program that lies about its own progress ends or keeps its own work, and may make others of its list "
        "look hopeless",
    ),
    Threat(
        "T100",
        "a device lies about how long it takes, to get all work, or to keep work from others",
        "the hub measures from lease to end by its own clock; what others are expected to take is a median; a task "
        "waits for a busy device no longer than it could gain, and a device holds no more than its slots",
        (
            "tests/guard/test_lying_paces.py",
            "tests/core/placement/test_pace.py::test_one_device_moves_little_of_what_is_expected_of_others",
        ),
        part="a device that is really quick gets the work first, and may keep one task for each slot until its timeout",
    ),
    Threat(
        "T113",
        "a device writes terminal commands or signs of writing direction into a result, a reason or its output, and "
        "forges lines in its owner's terminal or on the page",
        "every text of others is escaped where it is printed; the page writes such signs out; only `logs --raw` "
        "passes them on",
        (
            "tests/guard/test_terminal_texts.py",
            "tests/cli/text/test_answer_text.py::test_no_result_steers_the_terminal",
        ),
    ),
    Threat(
        "T110",
        "another call of a task reaches a wider effect or another device than was approved, runs after work that may "
        "have happened, or keeps a task going without end; a device declares its tool for another one that does less",
        "effects, devices, places and grants of all calls are judged with the plan or edit that names them, under one "
        "hash; only an attempt that may be repeated or did nothing is gone round; each call is taken once; a "
        "declaration counts where it has no more effects and the same repeatability, and is a part of the plan that is "
        "shown",
        (
            "tests/planner/test_equivalents.py",
            "tests/core/run/test_other_calls.py",
            "tests/protocol/plan/lowering/patterns/test_other_calls.py",
        ),
    ),
    Threat(
        "T111",
        "an agent of others that calls the hub by A2A gets more done than an assistant may, or reaches another's task",
        "each caller is an assistant whatever its token, with a scope that opens nothing else; no message answers a "
        "question; a task belongs to the token that made it, and one message makes one task",
        (
            "tests/edge/routes/requests/test_a2a.py::test_the_task_of_another_caller_is_as_unknown_as_none",
            "tests/edge/routes/requests/test_a2a.py",
        ),
        part="an agent may read what its answers and the questions to people say",
    ),
    Threat(
        "T112",
        "a server or an agent that a device reaches leads it to another host, never ends, or changes what it offers",
        "only the host that the owner wrote is asked, and no redirect is followed; messages, streams and waits are "
        "bounded; a tool that changes asks each time; a session ends with its constellation and all that it started",
        (
            "tests/device_agents/tools/agents/test_remote_agent.py",
            "tests/device_agents/work/sessions/test_mcp_sessions.py",
        ),
        part="an agent that is told to stop may go on; T236 has what a server offers after a start",
    ),
    Threat(
        "T121",
        "words of a recipe, or of the resources and prompts of a device's MCP server, steer an assistant or a planner; "
        "a program at `starloom mcp` follows work of another person, or so much that the hub is busy with it",
        "a recipe's words stand in quotation marks below a name and hints of the hub's own, and its effects are those "
        "of its plan; texts of a server come as results of calls alone and count as a stranger's; a program follows "
        "its own constellations; lists, texts, subscriptions and streams are bounded",
        ("tests/guard/test_injections.py",),
        part="a model may still obey words in quotation marks: what it may then do is bounded, as of any assistant",
    ),
    Threat(
        "T116",
        "a recipe from elsewhere says that it only reads, and its plan writes, destroys or reaches out",
        "a saved recipe is shown with the effects of the tools that its plan names, and its preview judges the "
        "plan itself",
        (
            "tests/planner/recipes/test_library.py::test_a_saved_recipe_has_the_effects_of_its_tools_whatever_it_says",
            "tests/planner/preview/test_plan.py",
        ),
        part="a tool whose name is a parameter is known once the parameter has its value, in the preview",
    ),
    Threat(
        "T120",
        "a device lies about the courtesy of its owner to draw work or to keep it from others, or floods the hub with "
        "changes; it says that work waits for a tap which it does not do; a caller asks what if so often that the hub "
        "stands still",
        "courtesy only takes a device back: no word of it ranks a device before another; the hub keeps the facts that "
        "it knows, of bounded length, and ends a connection that changes them without pause; a tap is told only for "
        "attempts that run on the device that says so; each caller's questions have a rate, a bound on steps, a thread",
        (
            "tests/guard/test_courtesy.py",
            "tests/guard/test_taps.py",
            "tests/core/placement/test_courtesy.py",
            "tests/core/placement/test_taps.py",
            "tests/edge/routes/work/test_run_forecasts.py",
            "tests/planner/test_run_forecast.py::test_five_thousand_open_tasks_are_played_once_and_within_a_bound",
        ),
        part="a device may always refuse; a caller with many tokens has as many rates, and two threads for all",
    ),
    Threat(
        "T122",
        "work that needs an approval gets a standing one without a word: as a repeated run, a recipe, a plan or a "
        "change of a schedule",
        "a schedule of a plan that does more than read is kept with the hash of that plan alone, from a person who may "
        "approve, whichever way it is made; its firings are judged as strictly",
        (
            "tests/guard/test_schedules.py",
            "tests/core/clock/test_schedule_changes.py::test_a_plan_that_writes_is_approved_when_it_is_saved",
        ),
        part="a schedule that an earlier release kept without an approval runs on until it is changed",
    ),
    *DEVICE_THREATS,
    *GIVEN_THREATS,
    *MIND_THREATS,
    *PEOPLE_THREATS,
)
