"""The records that events put and the operations of edits that change a plan. Owns their fields; decides nothing."""
