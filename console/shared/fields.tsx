/** The fields of forms and filters, with their labels. */

import type { Child, FC } from "hono/jsx";
import type { FieldError } from "../../core/errors.ts";
import type { View } from "./session.ts";

interface FormFieldProps {
  name: string;
  label: string;
  value: string;
  type?: string;
  error?: string;
  help?: string;
  isRequired?: boolean;
  maxLength?: number;
  /** The earliest date that can be entered. */
  min?: string;
  /** Which keyboard a phone shows. */
  inputMode?: "numeric" | "tel";
}

/** With its help and its error. */
export const FormField: FC<FormFieldProps> = (props) => {
  const { name, label, value, type = "text", error, help, isRequired } = props;
  const described = [help && `${name}-help`, error && `${name}-error`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        type={type}
        value={value}
        required={isRequired}
        maxlength={props.maxLength}
        min={props.min}
        inputmode={props.inputMode}
        aria-invalid={error ? "true" : undefined}
        aria-describedby={described || undefined}
      />
      {error && <p id={`${name}-error`} class="field-error">{error}</p>}
      {help && <p id={`${name}-help`} class="help">{help}</p>}
    </div>
  );
};

interface FormErrorProps {
  view: View;
  /** What is wrong with the whole form; empty: nothing. */
  error?: string;
  errors: FieldError[];
  /** The fields that show their errors themselves. */
  fields: readonly string[];
}

/** What is wrong with the form, and the errors of fields that it does not have. */
export const FormError: FC<FormErrorProps> = ({ view, error, errors, fields }) => {
  if (!error) return null;
  const others = errors.filter(({ field }) => !fields.includes(field));
  return (
    <div role="alert" class="error">
      {error}
      {others.length > 0 && (
        <ul>
          {others.map(({ field, message }) => (
            <li>{`${field}: ${view.words.message(message)}`}</li>
          ))}
        </ul>
      )}
    </div>
  );
};

interface ChoiceProps {
  name: string;
  label: string;
  value: string;
  options: Record<string, string>;
  /** The text of no choice; absent: one of the options is always chosen. */
  any?: string;
}

export const Choice: FC<ChoiceProps> = ({ name, label, value, options, any }) => (
  <div>
    <label for={name}>{label}</label>
    <select id={name} name={name}>
      {any !== undefined && <option value="">{any}</option>}
      {Object.entries(options).map(([each, text]) => (
        <option value={each} selected={each === value}>{text}</option>
      ))}
    </select>
  </div>
);

interface FieldProps {
  name: string;
  label: string;
  type: string;
  value: string;
}

export const Field: FC<FieldProps> = ({ name, label, type, value }) => (
  <div>
    <label for={name}>{label}</label>
    <input id={name} name={name} type={type} value={value} />
  </div>
);

interface BoxesProps {
  name: string;
  label: Child;
  chosen: readonly string[];
  options: [value: string, text: string][];
}

/** Checkboxes, to choose several values. */
export const Boxes: FC<BoxesProps> = ({ name, label, chosen, options }) => (
  <fieldset class="boxes">
    <legend>{label}</legend>
    {options.map(([value, text]) => (
      <label>
        <input type="checkbox" name={name} value={value} checked={chosen.includes(value)} /> {text}
      </label>
    ))}
  </fieldset>
);

interface SuggestingFieldProps {
  name: string;
  label: string;
  value: string;
  /** Values to choose from; others can be typed. */
  options: readonly string[];
}

export const SuggestingField: FC<SuggestingFieldProps> = ({ name, label, value, options }) => (
  <div>
    <label for={name}>{label}</label>
    <input id={name} name={name} value={value} list={`${name}-options`} autocomplete="off" />
    <datalist id={`${name}-options`}>
      {[...new Set(options)].map((option) => <option value={option}></option>)}
    </datalist>
  </div>
);
