// Calls operations of the Java client. Reads a call per line, and prints its result per line.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URI;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import paymentgateway.ApiClient;

public class Call {
  public static void main(String[] none) throws Exception {
    ApiClient client = new ApiClient();
    ObjectMapper mapper = client.getObjectMapper();
    JsonNode settings = mapper.readTree(System.getenv("CLIENT_SETTINGS"));
    URI url = URI.create(settings.get("url").asText());
    client.setHost(url.getHost()).setPort(url.getPort());
    client.setRequestInterceptor(
        (request) -> request.header("Authorization", "Bearer " + settings.get("key").asText()));
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      Map<String, Object> outcome = new HashMap<>();
      try {
        outcome.put("result", perform(client, mapper, mapper.readTree(line)));
      } catch (Throwable error) {
        Throwable cause = error instanceof InvocationTargetException ? error.getCause() : error;
        outcome.put("error", cause.toString());
      }
      System.out.println(mapper.writeValueAsString(outcome));
    }
  }

  /** Converts each argument to the class of its parameter. */
  static Object perform(ApiClient client, ObjectMapper mapper, JsonNode call) throws Exception {
    Class<?> api = Class.forName("org.openapitools.client.api." + call.get("api").asText());
    Method method = Arrays.stream(api.getMethods())
        .filter((each) -> each.getName().equals(call.get("method").asText()))
        .findFirst().orElseThrow();
    Object[] args = Arrays.stream(method.getParameters())
        .map((parameter) -> mapper.convertValue(
            call.get("args").get(parameter.getName()),
            mapper.constructType(parameter.getParameterizedType())))
        .toArray();
    return method.invoke(api.getConstructor(ApiClient.class).newInstance(client), args);
  }
}
