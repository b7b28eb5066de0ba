/** A field of a form, with its label, its help and its error. */

import type { FC } from "hono/jsx";

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
