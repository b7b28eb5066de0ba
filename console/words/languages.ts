/** The languages of the console. */

import { ENGLISH, INDONESIAN, type Words } from "./words.ts";

const WORDS = { en: ENGLISH, id: INDONESIAN };

export type Language = keyof typeof WORDS;

export const LANGUAGES = Object.keys(WORDS) as Language[];

export function wordsOf(language: Language): Words {
  return WORDS[language];
}

/** The language of the cookie, or the first of the browser that the console has, or English. */
export function chooseLanguage(cookie: string | undefined, acceptLanguage: string | undefined) {
  const wanted = [cookie, ...(acceptLanguage ?? "").split(",")];
  const found = wanted.map((each) => each?.trim().slice(0, 2).toLowerCase());
  return LANGUAGES.find((language) => found.find(isLanguage) === language) ?? "en";
}

export function isLanguage(text: string | undefined): text is Language {
  return (LANGUAGES as (string | undefined)[]).includes(text);
}
