// Replaces the class of `jackson-databind-nullable`, for optional properties that can be null.
package org.openapitools.jackson.nullable;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;

public class JsonNullable<T> {
  private final T value;

  @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
  public JsonNullable(T value) {
    this.value = value;
  }

  public static <T> JsonNullable<T> of(T value) {
    return new JsonNullable<>(value);
  }

  public static <T> JsonNullable<T> undefined() {
    return null;
  }

  @JsonValue
  public T get() {
    return value;
  }

  public boolean isPresent() {
    return true;
  }

  public T orElse(T other) {
    return value == null ? other : value;
  }
}
