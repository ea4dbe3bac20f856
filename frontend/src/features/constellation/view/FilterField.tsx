/** The filter of the tasks, in the grammar of `model/tasks/filter.ts`. */
import { Icon } from "../../../ui/Icon.tsx";

export function FilterField(props: { value: string; onChange: (text: string) => void; onClear: () => void }) {
  const { value, onChange, onClear } = props;
  return (
    <label className="field filter">
      <Icon name="filter" />
      <input
        data-filter
        aria-label="Filter tasks"
        placeholder="state: device: dur:>10s name"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onClear();
        }}
      />
      <kbd className="only-wide" aria-hidden="true">
        /
      </kbd>
    </label>
  );
}
